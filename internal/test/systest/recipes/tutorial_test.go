package recipes

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/process"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A command is a line of a console block, with the lines that it prints.
type command struct{ line, prints string }

var (
	consoles = regexp.MustCompile("(?s)```console\n(.*?)```")
	// These may differ from the page: dates and times, spans, IDs and fences, names of hosts.
	varying = regexp.MustCompile(`…|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|(?:\d+m)?\d+s\b|\d{7,}|\w+ pid \d+|at [\w.-]+:\d+| {2,}`)
	// These need a network or Docker, and are done by the test.
	elsewhere = regexp.MustCompile(`^(docker run|git|mkdir|go mod edit)`)
	// These change nothing, so they may be repeated until their output is right.
	repeatable = regexp.MustCompile(`^(tail|grep|cat|curl -s 127|./uidring)`)
)

// commandsOf returns the commands of a page.
func commandsOf(page string) (all []command) {
	for _, block := range consoles.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(block[1]) {
			if text, ok := strings.CutPrefix(line, "$ "); ok {
				all = append(all, command{line: strings.TrimSuffix(text, "\n")})
			} else {
				all[len(all)-1].prints += line
			}
		}
	}
	return all
}

// matches reports whether an output is as on the page.
func (c command) matches(output string) bool {
	fixed := varying.Split(c.prints, -1)
	for i, text := range fixed {
		fixed[i] = regexp.QuoteMeta(text)
	}
	return regexp.MustCompile("^" + strings.Join(fixed, ".*") + "$").MatchString(output)
}

// A shell is a process of bash that runs one command after the other.
type shell struct{ *process.Child }

// run returns the output and the exit code of a command.
func (s shell) run(line string) (output string, code int) {
	const end = "--end "
	fmt.Fprintf(s.Stdin, "%s\necho '%s'$?\n", line, end)
	for {
		text, err := s.Line()
		if rest, ok := strings.CutPrefix(text, end); ok || err != nil {
			_, _ = fmt.Sscan(rest, &code)
			return output, code
		}
		output += text + "\n"
	}
}

// The commands of the tutorial print the lines below them.
func TestTutorial(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for an outage to be noticed")
	}
	t.Parallel()
	server := testserver.MySQL(t, "--skip-name-resolve=OFF")
	folder := testserver.DiskFolder(t)
	shop := filepath.Join(folder, "shop")
	page := strings.NewReplacer("127.0.0.1:3306", server.Addr(), "../shop", shop).Replace(pageOf(t, "docs/TUTORIAL.md"))
	for _, port := range []string{"8081", "8082", "8083"} {
		_, free, err := net.SplitHostPort(testserver.FreeAddr(t))
		testkit.Must(t, err)
		page = strings.ReplaceAll(page, port, free)
	}
	root, err := filepath.Abs("../../../..")
	testkit.Must(t, err)
	program := goBlocks.FindStringSubmatch(page)[1]
	for _, err := range []error{os.Mkdir(shop, 0o700), os.Symlink(root, filepath.Join(folder, "uidring")), os.WriteFile(filepath.Join(shop, "main.go"), []byte(program), 0o600)} {
		testkit.Must(t, err)
	}
	bash := exec.Command("bash", "-c", "exec bash 2>/dev/null") // it outlives the test's context, to end its jobs
	bash.Dir = shop
	sh := shell{process.Run(t, bash)}
	t.Cleanup(func() { sh.run("kill $(jobs -p); wait") })
	for _, c := range commandsOf(page) {
		switch sql, isSQL := strings.CutPrefix(c.line, `docker exec mysql mysql -uroot -proot -e "`); {
		case isSQL:
			db, err := sqlassigner.OpenMySQL(server.DSN() + "?multiStatements=true")
			testkit.Must(t, err)
			db.MustExec(strings.TrimSuffix(sql, `"`))
			testkit.Must(t, db.Close()) // before the server stops, which breaks its connections
		case c.line == "docker stop mysql":
			server.Stop()
		case c.line == "docker start mysql":
			server.Restart()
		case strings.HasPrefix(c.line, "go mod tidy && "):
			c.line = fmt.Sprintf("(cd '%s/internal/test/systest' && go build -o %s/shop %[2]s/main.go)", root, shop)
			fallthrough
		case !elsewhere.MatchString(c.line):
			c.check(t, sh)
		}
	}
}

// The service of the tutorial stores an order in the other databases, too.
func TestTutorialOnOtherDatabases(t *testing.T) {
	program := programOf(t, "docs/TUTORIAL.md")
	for name, put := range otherDatabases(t) {
		t.Run(name, func(t *testing.T) {
			addr := testserver.FreeAddr(t)
			service := build(t.Context(), t, put(t, program))
			service.Args = append(service.Args, addr)
			takesAnOrder(t, service, addr)
		})
	}
}

// The service of docs/RECIPES.md answers an order with an ID.
func TestServiceProgram(t *testing.T) {
	addr := testserver.FreeAddr(t)
	service := build(t.Context(), t, testkit.ReadFile(t, "service/main.go"))
	service.Env = append(os.Environ(), "DATABASE="+testserver.MySQL(t).DSN(), "LISTEN="+addr)
	takesAnOrder(t, service, addr)
}

// takesAnOrder starts a service, posts an order, whose answer must be an ID, and ends the service.
func takesAnOrder(t *testing.T, service *exec.Cmd, addr string) {
	t.Helper()
	testkit.Must(t, service.Start())
	testkit.Succeeds(t, "an order", func() error {
		r, err := http.PostForm("http://"+addr+"/orders", url.Values{"item": {"pen"}})
		if err != nil {
			return err
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if _, wrong := uidring.Parse(strings.TrimSpace(string(text))); r.StatusCode != http.StatusOK || wrong != nil {
			t.Errorf("%s: %q, %v, want an ID", r.Status, text, errors.Join(err, wrong))
		}
		return nil
	})
	testkit.Must(t, service.Process.Signal(syscall.SIGTERM))
	testkit.Must(t, service.Wait())
}

// check runs the command. A process that was just started may not listen yet, and an outage is
// noticed at the next renewal.
func (c command) check(t *testing.T, sh shell) {
	t.Helper()
	testkit.Succeeds(t, "the output of $ "+c.line, func() error {
		output, code := sh.run(c.line)
		if c.matches(output) {
			return nil
		}
		if connected := code == 0; connected && !repeatable.MatchString(c.line) {
			t.Fatalf("$ %s\n%s\nwant:\n%s", c.line, output, c.prints)
		}
		return fmt.Errorf("%s\nwant:\n%s", output, c.prints)
	})
}
