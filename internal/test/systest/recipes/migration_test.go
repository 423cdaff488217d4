package recipes

import (
	"crypto/rand"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

var (
	migrationPages = []string{"docs/MIGRATION.md", "docs/zh-CN/MIGRATION.md"}
	goBlocks       = regexp.MustCompile("(?s)```go\n(.*?)```")
	// checks are the parts of the commands on the page that read the IDs of a query.
	checks = regexp.MustCompile(`(?m)^mysql --quick .* \| (uidring migrate check .*)$`)
)

// A host has a server of MySQL and the command uidring.
type host struct {
	server  *testserver.Server
	uidring string
}

// A site is a database as old generators leave it, with the command uidring.
type site struct {
	*testing.T
	host
	db   *sqlx.DB
	page string // with the address of the database
}

// Each part of the pages has a database of its own.
func TestMigration(t *testing.T) {
	t.Parallel()
	h := host{testserver.MySQL(t), filepath.Join(testserver.DiskFolder(t), "uidring")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", h.uidring, "github.com/uidring/uidring/cmd/uidring").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, page := range migrationPages {
		t.Run("from UidGenerator/"+page, func(t *testing.T) { h.fromUidGenerator(t, page) })
	}
	t.Run("check advises", h.checkAdvises)
	t.Run("from Snowflake", h.fromSnowflake)
	t.Run("from Leaf and TinyId", h.fromLeafAndTinyID)
}

func (h host) site(t *testing.T, page string, statements ...string) site {
	admin, err := sqlassigner.OpenMySQL(h.server.DSN())
	testkit.Close(t, admin, err)
	cfg, err := mysql.ParseDSN(h.server.DSN())
	testkit.Must(t, err)
	cfg.DBName = "shop" + strings.ToLower(rand.Text()) // without the digits of a number that a test replaces
	admin.MustExec("CREATE DATABASE " + cfg.DBName)
	s := site{T: t, host: h}
	s.db, err = sqlassigner.OpenMySQL(cfg.FormatDSN())
	testkit.Close(t, s.db, err)
	for _, statement := range statements {
		s.db.MustExec(statement)
	}
	s.page = strings.NewReplacer("ids:secret@tcp(127.0.0.1:3306)/shop", cfg.FormatDSN(),
		"mysql://ids:secret@db/shop", fmt.Sprintf("mysql://%s@%s/%s", cfg.User, cfg.Addr, cfg.DBName)).Replace(pageOf(t, page))
	return s
}

// sh runs a command of the page, and returns its output.
func (s site) sh(line, stdin string) (output string) {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), "bash", "-c", strings.Replace(line, "uidring", s.uidring, 1))
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 4) { // 4: new IDs will not be above
		s.Fatalf("$ %s\n%s%v", line, out, err)
	}
	return string(out)
}

// Java processes have written IDs of 29/21/13, and taken worker IDs 1 to 3.
func (h host) fromUidGenerator(t *testing.T, page string) {
	const table = "CREATE TABLE WORKER_NODE (ID BIGINT NOT NULL AUTO_INCREMENT, HOST_NAME VARCHAR(64) NOT NULL, PORT VARCHAR(64) NOT NULL, TYPE INT NOT NULL, " +
		"LAUNCH_DATE DATE NOT NULL, MODIFIED TIMESTAMP NOT NULL, CREATED TIMESTAMP NOT NULL, PRIMARY KEY (ID))"
	const start = "INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) VALUES ('java', '1-2', 1, NOW(), NOW(), NOW())"
	old := bitsalloc.Layout{DeltaBits: 29, WorkerBits: 21, SequenceBits: 13}
	alloc, err := bitsalloc.New(old, time.Date(2016, time.September, 19, 16, 0, 0, 0, time.UTC))
	testkit.Must(t, err)
	s := h.site(t, page, table, start, start, start)
	commands := regexp.MustCompile(`(?m)^uidring (?:schema mysql nodes|migrate pin) .*$`).FindAllString(s.page, -1)
	if len(commands) != 2 {
		t.Fatalf("the page has the commands %q, want one for the tables and one for the pin", commands)
	}
	for _, line := range commands {
		s.sh(line, "")
	}
	program := build(t.Context(), t, goBlocks.FindStringSubmatch(s.page)[1]).Path
	for _, want := range []int64{4, 6} { // a Java process starts in between, as during a mixed run
		out, err := exec.CommandContext(t.Context(), program).Output()
		testkit.Must(t, err)
		number, _ := strings.CutSuffix(string(out), " <nil>\n")
		id, err := strconv.ParseInt(number, 10, 64)
		testkit.Must(t, err)
		if f, err := alloc.Parse(id); err != nil || f.WorkerID != want || time.Since(f.Time).Abs() > time.Hour {
			t.Errorf("ID %d has %+v, %v, want worker ID %d, and the present", id, f, err, want)
		}
		s.db.MustExec(start)
	}
}

// The layout of Java has ended: the check advises another epoch, with which all new IDs are above
// the old ones.
func (h host) checkAdvises(t *testing.T) {
	const newest = 3200169789968523265
	s := h.site(t, migrationPages[0])
	line := checks.FindStringSubmatch(s.page)[1]
	report := s.sh(line, strconv.Itoa(newest)+"\n-7055269968853590016\n")
	config := regexp.MustCompile(`(?m)^IN GO +(.*\n.*),$`).FindStringSubmatch(report)
	advice := regexp.MustCompile(`(?m)^ADVICE +(--layout \S+ --epoch \S+) is above`).FindStringSubmatch(report)
	if config == nil || advice == nil || !strings.Contains(report, "VERDICT     overlap") {
		t.Fatalf("%s, want an overlap, and the advice of an epoch with larger IDs", report)
	}
	line = strings.Replace(line, "--layout recommended", advice[1], 1)
	if report := s.sh(line, strconv.Itoa(newest)+"\n"); !strings.Contains(report, "VERDICT     above") {
		t.Errorf("with the advice %s: %s, want above", advice[1], report)
	}
	program := programOf(t, "README.md")
	program = strings.Replace(program, "Layout:   bitsalloc.Recommended(),", config[1]+",", 1)
	program = strings.Replace(program, "import (", "import (\n\t\"time\"", 1)
	program = opensMySQL.ReplaceAllLiteralString(program, opensMySQL.FindString(s.page))
	if id := printsAnID(t, program); id <= newest {
		t.Errorf("the program with %s prints %d, want more than the largest old ID %d", config[1], id, int64(newest))
	}
}

// The Config for users of bwmarrin/snowflake, in the program of the README, and the same with the
// layout of Twitter. Worker IDs begin above the numbers of old processes.
func (h host) fromSnowflake(t *testing.T) {
	s := h.site(t, migrationPages[0])
	storetest.Apply(t, s.db)
	_, page, _ := strings.Cut(s.page, "\n## bwmarrin/snowflake\n")
	program := programOf(t, "README.md")
	program = regexp.MustCompile(`(?s)cached\.Config\{.*?\n\t\}`).ReplaceAllLiteralString(program, strings.TrimSpace(goBlocks.FindStringSubmatch(page)[1]))
	program = opensMySQL.ReplaceAllLiteralString(program, opensMySQL.FindString(s.page))
	program = strings.Replace(program, "import (", "import (\n\t\"time\"\n\t\"github.com/uidring/uidring/assigner\"", 1)
	twitter := regexp.MustCompile("`(bitsalloc\\.Layout\\{.*?\\})` with the same epoch").FindStringSubmatch(page)[1]
	for namespace, tt := range map[string]struct {
		layout string
		first  int64
	}{"orders": {"bitsalloc.Snowflake()", 512}, "tweets": {twitter, 16}} {
		id := printsAnID(t, strings.NewReplacer(`"orders"`, strconv.Quote(namespace), "bitsalloc.Snowflake()", tt.layout, "512", strconv.FormatInt(tt.first, 10)).Replace(program))
		if worker := id >> 12 & 1023; worker != tt.first { // the fields of both layouts lie alike
			t.Errorf("%s: ID %d has worker %d, want %d", namespace, id, worker, tt.first)
		}
	}
}

// The counter of Leaf and of TinyId goes on where the Java servers have left it. The page in
// English has the same program as the page in Chinese, without its frame.
func (h host) fromLeafAndTinyID(t *testing.T) {
	s := h.site(t, migrationPages[1], append(slices.Clone(storetest.JavaTables),
		"INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('orders', 2000000001, 2000)",
		"INSERT INTO tiny_id_info (id, biz_type, max_id, step) VALUES (1, 'orders', 2000000001, 2000)")...)
	programs := goBlocks.FindAllStringSubmatch(s.page, -1)
	program := programs[len(programs)-1][1]
	for name, prints := range map[string]string{"LeafSource": "2000000001 <nil>\n", "TinyIDSource": "2000000002 <nil>\n"} {
		call := "sqlassigner." + name + "(db, sqlassigner.Config{})"
		for _, page := range migrationPages {
			if !strings.Contains(pageOf(t, page), call) {
				t.Errorf("%s does not name %s", page, call)
			}
		}
		got, err := build(t.Context(), t, strings.Replace(program, "sqlassigner.LeafSource(db, sqlassigner.Config{})", call, 1)).Output()
		if string(got) != prints || err != nil {
			t.Errorf("with %s it prints %q, %v, want %q, the next ID of the counter", name, got, err, prints)
		}
	}
	comments := regexp.MustCompile(`//.*`)
	english, _, _ := strings.Cut(pageOf(t, migrationPages[0]), "\n## Auto-increment")
	blocks := goBlocks.FindAllStringSubmatch(english, -1)
	for line := range strings.Lines(comments.ReplaceAllString(blocks[len(blocks)-1][1], "")) {
		if !strings.Contains(program, strings.TrimSpace(line)) {
			t.Errorf("the program in Chinese lacks the line %q of the page in English", line)
		}
	}
}
