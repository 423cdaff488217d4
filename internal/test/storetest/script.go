package storetest

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/internal/test/faultconn"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

//go:embed testdata
var scripts embed.FS

// RunScripts runs the scripts in testdata. A paragraph is a case on a database of its own, with all
// tables: a title behind #, and commands behind >. Rows between bars repeat a case for the kinds of
// Database in their first column, with the columns for $1 to $9. A case without rows is for all
// kinds; tidb is a server that the tests did not start.
//
// Below a command the script has its answer, in which … stands for any text of a line, and letter
// case does not count. An error only needs the parts in the script, in their order. It must wrap
// the sentinels that these name, and no others. Where they name a canceled context, it ends before
// the first retry. A command without an answer must succeed.
//
// Commands use the first handle of the database, or the one whose name and colon come first. In a
// command and in its answer, $a.worker is the worker ID of the lease a, $a.first and $a.last are
// its deltas, and $a.used is the delta up to which its holder has used it. These prepare a case:
//
//	server --log-bin                  starts a server with these arguments for all rows
//	serve b --log-bin                 starts another server, with the handle b
//	kill b, restart b --log-bin       ends that server as a crash does, and starts it again; main is the
//	                                  server of the case
//	lead db b                         opens the handle db at an address that leads to the server b,
//	                                  or makes the address lead there
//	cut db "marker"                   cuts the connection to that address on which this is sent next, at
//	                                  the answer
//	let port SELECT @@port            makes $port the result of a query
//	empty                             creates no tables
//	env JPAAS_HOST=10.0.0.1           sets a variable of the environment
//	open b one user=ids:hunter2 $dsn  opens the handle b, with one connection; brief: with one for each
//	                                  call; $file is a file of SQLite
//	host cp $file $file-copy          runs a program
//	folder                            changes the working folder to an empty one
//	inside b                          opens the handle b, whose connections are inside a transaction
//	sql STATEMENT; STATEMENT          runs statements
//	files                             creates all tables of MySQL with the files of package schema
//	java, java 7                      inserts the row of a Java service, with the ID 7
//	java tables                       creates the tables of Leaf and TinyId
//	down, up                          takes the database down, and back
//	start assign a disposable, done   runs a command beside the next ones, and prints its answer; of
//	                                  several, done prints the next one in any order
//	until QUERY, retried              wait for a count, for a call that failed
//
// These are under test:
//
//	get QUERY                         prints the rows that a query finds
//	apply nodes segments              creates the tables of these groups
//	assign a disposable               takes a lease with the name a; see script.assigner
//	every undurable                   takes a lease by each kind of assigner
//	renew a, renew a more, end a      more: the holder has used all deltas
//	swap row T U, swap meta none T    swaps row 7 or the meta row from one token to another
//	load 0, list                      print the fence of a row, and the number of rows
//	advance leaf orders 10            takes a range of a counter; see script.source
//	status, faults                    print faults; faults checks that each assigner rejects them
//	meta, identity, namespaces, log   print these; log has warnings
//	tries                             prints how many calls were tried again
//	pin epoch=-1, recover 1h          call the funcs of these names
func RunScripts(t *testing.T, b Database) {
	files, err := fs.Glob(scripts, "testdata/*.txt")
	testkit.Must(t, err)
	for _, file := range files {
		b.runScript(t, file)
	}
}

// runScript runs a file of testdata.
func (b Database) runScript(t *testing.T, file string) {
	text, err := scripts.ReadFile(file)
	testkit.Must(t, err)
	topic := strings.TrimSuffix(path.Base(file), ".txt")
	for p := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n\n") {
		title, _, _ := strings.Cut(p, "\n")
		if rows := rowsFor(b.Kind, p); len(rows) > 0 {
			t.Run(topic+"/"+strings.Trim(title, "# ."), func(t *testing.T) { b.runCase(t, p, rows) })
		}
	}
}

// runCase runs a paragraph, once for each row.
func (b Database) runCase(t *testing.T, paragraph string, rows [][]string) {
	if _, args, ok := strings.Cut(paragraph, "\n> server"); ok {
		args, _, _ = strings.Cut(args, "\n")
		b = b.Start(t, strings.Fields(args)...)
	}
	for _, row := range rows {
		var pairs []string
		for i, cell := range row {
			pairs = append(pairs, fmt.Sprintf("$%d", i+1), cell)
		}
		t.Run(strings.Join(row, ", "), func(t *testing.T) {
			create := b.Applied
			if strings.Contains(paragraph, "\n> empty") {
				create = b.Empty
			}
			db, dsn := create(t)
			s := &script{T: t, b: b, dsn: dsn, handles: map[string]*sqlx.DB{"": db}, values: make(map[string]string), started: make(chan answer, 10),
				servers: map[string]*testserver.Server{"main": b.Server}, addresses: make(map[string]*faultconn.Proxy)}
			s.run(strings.NewReplacer(pairs...).Replace(paragraph))
		})
	}
}

// rowsFor returns the rows of a paragraph for a kind. A paragraph without rows has one for each.
func rowsFor(kind, paragraph string) (rows [][]string) {
	if !strings.Contains(paragraph, "\n|") {
		return [][]string{{kind}}
	}
	for line := range strings.SplitSeq(paragraph, "\n") {
		cells, ok := strings.CutPrefix(line, "|")
		if !ok {
			continue
		}
		var row []string
		for cell := range strings.SplitSeq(strings.TrimSuffix(cells, "|"), "|") {
			row = append(row, strings.TrimSpace(cell))
		}
		if slices.Contains(strings.Fields(row[0]), kind) {
			row[0] = kind
			rows = append(rows, row)
		}
	}
	return rows
}

// A script is the world of a case.
type script struct {
	*testing.T
	b        Database
	dsn      string
	handles  map[string]*sqlx.DB // the first one is ""
	holdings sync.Map            // by the names of the leases
	values   map[string]string   // of let
	log      testkit.Recorder    // of all assigners and stores
	retries  atomic.Int64        // of calls
	undo     func()              // of down
	started  chan answer

	servers   map[string]*testserver.Server
	addresses map[string]*faultconn.Proxy
}

// run runs the commands of a paragraph, and compares their answers.
func (s *script) run(paragraph string) {
	file, _, _ := strings.Cut(s.dsn, "?")
	paragraph = strings.NewReplacer("$dsn", s.dsn, "$file", file).Replace(paragraph)
	for text := range strings.SplitSeq("\n"+paragraph, "\n> ") {
		command, rest, _ := strings.Cut(text, "\n")
		if command == "" { // the title
			continue
		}
		var want []string
		for line := range strings.SplitSeq(rest, "\n") {
			if answer, ok := strings.CutPrefix(line, "  "); ok {
				want = append(want, answer)
			}
		}
		s.check(command, want)
	}
}

// check runs a command, and compares its answer.
func (s *script) check(line string, want []string) {
	line = s.known(line)
	c := command{script: s, want: s.known(strings.Join(want, "\n"))}
	handle, rest, named := strings.Cut(line, ": ")
	if !named || strings.Contains(handle, " ") {
		handle, rest = "", line
	}
	c.db, c.Words = s.handles[handle], strings.Fields(rest)
	if c.db == nil {
		s.Fatalf("%s: no handle %q", line, handle)
	}
	_, c.text, _ = strings.Cut(rest, " ")
	if c.Words[0] == "every" {
		for _, kind := range Kinds {
			c.Words = append(testkit.Words{"assign", kind, kind}, strings.Fields(c.text)...)
			c.compare(line+", "+kind, c.texts(c.do()))
		}
		return
	}
	c.compare(line, c.texts(c.do()))
}

// known replaces values of let, such as $port, and the numbers of leases, such as $a.last.
func (s *script) known(text string) string {
	for name, value := range s.values {
		text = strings.ReplaceAll(text, "$"+name, value)
	}
	for name, value := range s.holdings.Range {
		if before := fmt.Sprintf("$%s.", name); strings.Contains(text, before) {
			h := value.(*holding)
			g := h.lease.Grant()
			text = strings.NewReplacer(before+"worker", strconv.FormatInt(g.WorkerID, 10), before+"first", strconv.FormatInt(g.First, 10),
				before+"last", strconv.FormatInt(g.Last, 10), before+"used", strconv.FormatInt(h.used, 10)).Replace(text)
		}
	}
	return text
}

// compare reports an answer other than the wanted one.
func (c command) compare(line string, got []string) {
	c.Helper()
	text := strings.Join(got, "\n")
	pattern := strings.ReplaceAll(regexp.QuoteMeta(c.want), "…", ".*")
	if strings.Contains(c.want, "error: ") {
		pattern = strings.Replace(pattern, "error: ", "error: .*", 1) + ".*"
	}
	wrong := c.want != "" && !regexp.MustCompile("(?i)^"+pattern+"$").MatchString(text)
	if wrong || c.want == "" && strings.HasPrefix(text, "error: ") || strings.Contains(text, "hunter2") {
		c.Errorf("> %s\n  %s\nwant\n  %s", line, text, c.want)
	}
}
