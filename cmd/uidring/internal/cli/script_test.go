package cli

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

var update = flag.Bool("update", false, "write the outputs of the commands into testdata")

// The tests run in a zone that is not UTC, which reveals a time printed without .UTC().
func init() { time.Local = time.FixedZone("Asia/Kolkata", 5*3600+1800) }

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"uidring": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"serves": func() {
			os.Exit(Main(append([]string{"serve"}, os.Args[2:]...), os.Stdin, os.Stdout, lastRecord(os.Args[1])))
		},
	})
}

// lastRecord is the message of a record after which this process gets SIGTERM. It writes the log to
// stderr.
type lastRecord string

func (message lastRecord) Write(record []byte) (int, error) {
	forms := []string{" msg=" + string(message) + " ", fmt.Sprintf(" msg=%q", message), fmt.Sprintf(`"msg":%q`, message)}
	if slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(string(record), form) }) {
		self, err := os.FindProcess(os.Getpid())
		if err = errors.Join(err, self.Signal(syscall.SIGTERM)); err != nil {
			return 0, err
		}
	}
	return os.Stderr.Write(record)
}

// TestScripts runs testdata/*.txtar. A script begins with the variables PATH, HOME and TMPDIR only.
// Its commands are uidring, the ones of package testscript, and these:
//
//	exits 64 uidring plan   runs a command, and wants an exit code
//	serves ready --data=ids runs uidring serve until the log has a message, and wants it to end well
//	session FILE            runs the commands of a file, see session
//	disk                    sets DISK to an empty folder on a local disk
//	sqlite                  sets UIDRING_STORE to a database without tables, and the namespace orders
//	mariadb SELECT, INSERT  sets UIDRING_STORE to a database, for a user with some rights
//	sql FILE                executes the statements of a file
//	holder a [LAYOUT]       takes a lease until the script ends; $a is an ID of it
//	above $a $b             wants a to be larger than b; stdout is the output of the last command
//
// The scripts test packages idtext, migrate, plan and storeurl, too. With -update, the test writes
// outputs that differ into the scripts.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Values["t"] = env.T()
			env.Setenv("GORACE", "atexit_sleep_ms=1") // the race detector sleeps a second at each exit
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, _ bool, args []string){
			"exits": exits, "session": session, "disk": disk, "sqlite": sqlite, "mariadb": mariaDB, "sql": sql,
			"holder": holder, "above": above,
		},
	})
}

func exits(ts *testscript.TestScript, _ bool, args []string) {
	if code := execute(ts, args[1:]); strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// execute runs a command, and returns its exit code.
func execute(ts *testscript.TestScript, args []string) int {
	err := ts.Exec(args[0], args[1:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	ts.Check(err)
	return exitOK
}

// session runs each line of a file that begins with $, and prints the file with the output in place
// of all other lines but comments.
func session(ts *testscript.TestScript, _ bool, args []string) {
	var text strings.Builder
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		if !strings.HasPrefix(line, "$ ") && !strings.HasPrefix(line, "# ") {
			continue
		}
		text.WriteString(line)
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			code := execute(ts, strings.Fields(command))
			text.WriteString(ts.ReadFile("stdout"))
			for line := range strings.Lines(ts.ReadFile("stderr")) {
				text.WriteString("stderr: " + line)
			}
			if code != exitOK {
				fmt.Fprintf(&text, "exit code %d\n", code)
			}
		}
	}
	_, err := ts.Stdout().Write([]byte(text.String()))
	ts.Check(err)
}

func disk(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("DISK", testserver.DiskFolder(test(ts)))
}

func sqlite(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("UIDRING_STORE", sqliteURL(test(ts)))
	ts.Setenv("UIDRING_NAMESPACE", "orders")
}

func mariaDB(ts *testscript.TestScript, _ bool, rights []string) {
	ts.Setenv("UIDRING_STORE", mariaDBURL(test(ts), strings.Join(rights, " ")))
}

func sql(ts *testscript.TestScript, _ bool, args []string) {
	_, err := store(ts).DB().Exec(ts.ReadFile(args[0]))
	ts.Check(err)
}

func holder(ts *testscript.TestScript, _ bool, args []string) {
	layout := bitsalloc.Default()
	if len(args) > 1 {
		ts.Check(layout.UnmarshalText([]byte(args[1])))
	}
	lease := assigner.LeaseConfig{Window: time.Minute, Owner: args[0]} // longer than the script: it renews no lease
	g := testgen.Cached(test(ts), cached.Config{Assigner: assigner.Leased(store(ts), lease), Layout: layout})
	id, err := g.Next()
	ts.Check(err)
	ts.Setenv(args[0], strconv.FormatInt(id, 10))
}

func above(ts *testscript.TestScript, _ bool, args []string) {
	var ids [2]int64
	for i, text := range args {
		if text == "stdout" {
			text = ts.ReadFile(text)
		}
		var err error
		ids[i], err = strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		ts.Check(err)
	}
	if ids[0] <= ids[1] {
		ts.Fatalf("%d is not above %d", ids[0], ids[1])
	}
}

// test returns the test of a script.
func test(ts *testscript.TestScript) testing.TB { return ts.Value("t").(testing.TB) }

// store opens the store of UIDRING_STORE until the script ends.
func store(ts *testscript.TestScript) *storeurl.Store {
	st, err := storeurl.Open(ts.Getenv("UIDRING_STORE"), "orders")
	return testkit.Close(test(ts), st, err)
}
