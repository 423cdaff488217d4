package recipes

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

var opensMySQL = regexp.MustCompile(`sqlassigner\.OpenMySQL\(".*"\)`)

// otherDatabases returns, for each line of the README for another database than MySQL, a func that
// puts the line into a program.
func otherDatabases(t *testing.T) map[string]func(t *testing.T, program string) string {
	lines := regexp.MustCompile(`(?m)^db, err := (sqlx\.Open\("(\w+)", ")(.*)("\)) // import _ ("[^"]+")`).FindAllStringSubmatch(pageOf(t, "README.md"), -1)
	if len(lines) != 2 {
		t.Fatalf("README.md has %d lines for other databases, want 2", len(lines))
	}
	all := map[string]func(*testing.T, string) string{}
	for _, line := range lines {
		all[line[2]] = func(t *testing.T, program string) string {
			dsn := line[3]
			if line[2] == "pgx" {
				dsn = testserver.PostgreSQL(t).DSN()
			}
			program = opensMySQL.ReplaceAllLiteralString(program, line[1]+dsn+line[4])
			return strings.Replace(program, "import (", "import (\n\t\"github.com/jmoiron/sqlx\"\n\t_ "+line[5], 1)
		}
	}
	return all
}

// The program of the README prints an ID with the databases that the README names.
func TestReadmeProgram(t *testing.T) {
	program := programOf(t, "README.md")
	for name, start := range map[string]func(testing.TB, ...string) *testserver.Server{"MariaDB": testserver.MariaDB, "MySQL": testserver.MySQL} {
		t.Run(name, func(t *testing.T) {
			printsAnID(t, opensMySQL.ReplaceAllLiteralString(program, `sqlassigner.OpenMySQL("`+start(t).DSN()+`")`))
		})
	}
	for name, put := range otherDatabases(t) {
		t.Run(name, func(t *testing.T) { printsAnID(t, put(t, program)) })
	}
}

// programOf returns the first program of a page.
func programOf(t *testing.T, page string) string {
	t.Helper()
	return goBlocks.FindStringSubmatch(pageOf(t, page))[1]
}

func pageOf(t *testing.T, page string) string {
	t.Helper()
	return testkit.ReadFile(t, "../../../../"+page)
}

// ofPage returns the first program of a page, for a database that has the tables of leases.
func ofPage(t *testing.T, page string) (program string, db *sqlx.DB) {
	t.Helper()
	dsn := testserver.MySQL(t).DSN()
	db, err := sqlassigner.OpenMySQL(dsn)
	testkit.Close(t, db, err)
	storetest.Apply(t, db)
	return strings.Replace(programOf(t, page), "ids:secret@tcp(127.0.0.1:3306)/ids", dsn, 1), db
}

// printsAnID runs a program, whose output must be an ID, and returns the ID. On SIGTERM the program
// must give its worker ID back, and end without an error.
func printsAnID(t *testing.T, source string) int64 {
	t.Helper()
	cmd := build(t.Context(), t, source)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	testkit.Must(t, err)
	testkit.Must(t, cmd.Start())
	line, _ := bufio.NewReader(out).ReadString('\n') // the ID comes before the end of the program
	_ = cmd.Process.Signal(syscall.SIGTERM)
	err = cmd.Wait()
	number, _ := strings.CutSuffix(line, " <nil>\n")
	id, wrong := strconv.ParseInt(number, 10, 64)
	if wrong != nil || id <= 0 || err != nil || !strings.Contains(log.String(), "worker ID released") {
		t.Errorf("it prints %q and ends with %v, want an ID and a released worker ID:\n%s", line, err, &log)
	}
	return id
}

// build returns a command that runs a program in a folder on disk, for SQLite.
func build(ctx context.Context, t *testing.T, source string) *exec.Cmd {
	dir := testserver.DiskFolder(t)
	file := filepath.Join(dir, "main.go")
	testkit.Must(t, os.WriteFile(file, []byte(source), 0o600))
	program := filepath.Join(dir, "program")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, source)
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	return cmd
}

// The page shows the code of this package, and text for other frameworks.
func TestRecipesAreOnThePage(t *testing.T) {
	page := pageOf(t, "docs/RECIPES.md")
	for _, block := range goBlocks.FindAllString(pageOf(t, "docs/zh-CN/RECIPES.md"), -1) {
		if !strings.Contains(page, block) {
			t.Errorf("the page in English lacks the code\n%s", block)
		}
	}
	var code strings.Builder
	files, err := filepath.Glob("*.go")
	testkit.Must(t, err)
	for _, file := range append(files, "service/main.go") {
		code.WriteString(testkit.ReadFile(t, file))
	}
	for _, part := range []string{"A service", "net/http, sqlx, JSON, NULL", "GORM", "bun"} {
		_, text, _ := strings.Cut(page, "\n## "+part+"\n")
		_, text, _ = strings.Cut(text, "```go\n")
		block, _, found := strings.Cut(text, "```")
		if !found || !strings.Contains(code.String(), block) {
			t.Errorf("%s: no file of the recipes has\n%s", part, block)
		}
	}
}
