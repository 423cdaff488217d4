package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/client"
	"github.com/uidring/uidring/internal/testkit/idset"
	"github.com/uidring/uidring/internal/testkit/process"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// A driver is a program around a client of some language. It reads a command per line, and writes
// the IDs that it draws, one per line, and then "ok" or "error kind | message". The commands are:
//
//	open SERVERS TOKEN BATCH TIMEOUT WAIT MAXAGE   replaces the client; servers with commas, times in ms
//	take N TAKERS                                  draws N IDs in concurrent parts
//	close                                          closes the client while a call waits
//	fork N                                         draws N IDs in a forked child and N in the parent
type driver struct {
	t      *testing.T
	name   string
	stdin  io.WriteCloser
	line   func() (string, error)
	wait   func() error // until the program has ended
	relays [2]*relay    // to the killed and the frozen server
	issued *idset.Set
	drawn  atomic.Int64
	before counts
}

// counts are the IDs and the requests of a client so far.
type counts struct {
	ids      int64
	requests [2]int64 // to the killed and the frozen server
}

func (d *driver) count() counts {
	return counts{d.drawn.Load(), [2]int64{d.relays[killed].requests.Load(), d.relays[frozen].requests.Load()}}
}

// do sends a command, adds the IDs of the answer, and returns its result.
func (d *driver) do(command string) (result string, ids []int64) {
	if _, err := fmt.Fprintln(d.stdin, command); err != nil {
		return err.Error(), nil
	}
	for {
		text, err := d.line()
		if err != nil {
			return err.Error(), ids
		}
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			if again := d.issued.Add(ids...); len(again) > 0 {
				d.t.Errorf("%s: %d of %d IDs came twice, the first is %d", d.name, len(again), len(ids), again[0])
			}
			d.drawn.Add(int64(len(ids)))
			return text, ids
		}
		ids = append(ids, id)
	}
}

func (d *driver) succeeds(command string) []int64 {
	result, ids := d.do(command)
	if result != "ok" {
		d.t.Errorf("%s, %s: %s, want ok", d.name, command, result)
	}
	return ids
}

func (d *driver) fails(command, kind string) {
	if result, _ := d.do(command); !strings.HasPrefix(result, "error "+kind+" | ") {
		d.t.Errorf("%s, %s: %s, want error %s", d.name, command, result, kind)
	}
}

// dropsOldIDs makes a client whose IDs soon become too old, and lets them.
func (d *driver) dropsOldIDs(open string) {
	d.succeeds(open)
	first := d.succeeds("take 1 1")
	<-time.After(200 * time.Millisecond)
	second := d.succeeds("take 1 1")
	if len(first) == 1 && len(second) == 1 && second[0] == first[0]+1 {
		d.t.Errorf("%s: %d follows %d from the same batch, which has become too old", d.name, second[0], first[0])
	}
}

// ends wants the program to end by itself, since its client is closed.
func (d *driver) ends() {
	_ = d.stdin.Close()
	ended := make(chan error, 1)
	go func() { ended <- d.wait() }()
	select {
	case err := <-ended:
		if err != nil {
			d.t.Errorf("%s: %v after close, want exit status 0", d.name, err)
		}
	case <-time.After(patience):
		d.t.Errorf("%s has not ended after close", d.name)
	}
}

// exampleOutput is an ID, and in JavaScript a BigInt and JSON.
var exampleOutput = regexp.MustCompile(`^[1-9][0-9]*(n \{"id":"[1-9][0-9]*"\})?\n$`)

// example returns the program in the README of a client, with the URL of a server.
func example(t *testing.T, language, server string) string {
	page, err := os.ReadFile(clientsDir + language + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n```"+language+"\n")
	source, _, ok := strings.Cut(rest, "\n```\n")
	for old, now := range map[string]string{
		`"https://ids-1.example.com", "https://ids-2.example.com"`: strconv.Quote(server),
		"replace-with-a-token": goodToken,
	} {
		ok = ok && strings.Count(source, old) == 1
		source = strings.ReplaceAll(source, old, now)
	}
	if !ok {
		t.Fatalf("the README has no program in %s with two servers and a token", language)
	}
	return source
}

const clientsDir = "../../../../clients/"

// languages return the commands of the drivers, and of the example in the README of the client. dir
// is a folder for compiled files.
var languages = map[string]func(t *testing.T, dir, example string) (driver, readme *exec.Cmd){
	"python": func(t *testing.T, _, example string) (driver, readme *exec.Cmd) {
		command := func(args ...string) *exec.Cmd {
			cmd := exec.Command(testserver.Program(t, "python3", "python3"), append([]string{"-W", "error", "-B"}, args...)...)
			cmd.Dir = clientsDir + "python"
			cmd.Env = append(os.Environ(), "PYTHONPATH=src")
			return cmd
		}
		return command("tests/driver.py"), command("-c", example)
	},
	"javascript": func(t *testing.T, _, example string) (driver, readme *exec.Cmd) {
		command := func(args ...string) *exec.Cmd {
			cmd := exec.Command(testserver.Program(t, "node", "nodejs"), args...)
			cmd.Dir = clientsDir + "javascript"
			return cmd
		}
		return command("test/driver.js"), command("--input-type=module", "--eval", example)
	},
	"java": func(t *testing.T, dir, example string) (driver, readme *exec.Cmd) {
		sources, err := filepath.Glob(clientsDir + "java/src/main/java/io/github/uidring/client/*.java")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "Example.java")
		if err := os.WriteFile(file, []byte(example), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"--release", "11", "-Xlint:all", "-Werror", "-d", dir, clientsDir + "java/src/test/java/Driver.java", file}, sources...)
		if out, err := exec.Command(testserver.Program(t, "javac", "default-jdk-headless"), args...).CombinedOutput(); err != nil {
			t.Fatalf("javac: %v\n%s", err, out)
		}
		java := testserver.Program(t, "java", "default-jdk-headless")
		return exec.Command(java, "-XX:TieredStopAtLevel=1", "-cp", dir, "Driver"), exec.Command(java, "-XX:TieredStopAtLevel=1", "-cp", dir, "Example")
	},
}

// startDrivers starts the drivers of all languages whose programs are installed, after the examples
// of the READMEs have drawn IDs from a server.
func startDrivers(t *testing.T, server string) []*driver {
	drivers := []*driver{startGo(t)}
	for name, commands := range languages {
		var cmd *exec.Cmd
		dir := t.TempDir()
		t.Run("example of "+name, func(t *testing.T) { // a missing program skips this language
			var readme *exec.Cmd
			cmd, readme = commands(t, dir, example(t, name, server))
			if out, err := readme.CombinedOutput(); err != nil || !exampleOutput.Match(out) {
				t.Errorf("%v: %s, want an ID", err, out)
			}
		})
		if cmd == nil {
			continue
		}
		p, err := process.StartChild(cmd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			p.Kill()
			_, _ = p.Stdin.Close(), p.Stdout.Close()
		})
		drivers = append(drivers, &driver{name: name, stdin: p.Stdin, line: p.Line, wait: p.Wait})
	}
	return drivers
}

// startGo starts the driver of the Go client in this process.
func startGo(t *testing.T) *driver {
	commands, stdin := io.Pipe()
	stdout, answers := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer answers.Close()
		driveGo(commands, answers)
	}()
	t.Cleanup(func() { _, _ = stdin.Close(), stdout.Close() })
	lines := bufio.NewReader(stdout)
	return &driver{
		name: "go", stdin: stdin,
		line: func() (string, error) {
			text, err := lines.ReadString('\n')
			return strings.TrimSuffix(text, "\n"), err
		},
		wait: func() error { <-ended; return nil },
	}
}

func driveGo(commands io.Reader, answers io.Writer) {
	d := new(goDriver)
	out := bufio.NewWriter(answers)
	for in := bufio.NewScanner(commands); in.Scan(); {
		result := "ok"
		if err := d.do(strings.Split(in.Text(), " "), out); err != nil {
			result = fmt.Sprintf("error %s | %s", kindOf(err), strings.ReplaceAll(err.Error(), "\n", " "))
		}
		fmt.Fprintln(out, result)
		out.Flush()
	}
}

type goDriver struct {
	ids  *client.Client
	wait time.Duration
}

func (d *goDriver) do(command []string, out io.Writer) error {
	var n [6]int
	for i := 1; i < min(len(command), 7); i++ {
		n[i-1], _ = strconv.Atoi(command[i]) // of the numbers
	}
	switch command[0] {
	case "open":
		if d.ids != nil {
			d.ids.Close()
		}
		var err error
		d.wait = time.Duration(n[4]) * time.Millisecond
		d.ids, err = client.New(client.Config{
			Servers: strings.FieldsFunc(command[1], func(r rune) bool { return r == ',' }), Token: command[2], Batch: n[2],
			Timeout: time.Duration(n[3]) * time.Millisecond, MaxAge: time.Duration(n[5]) * time.Millisecond,
		})
		return err
	case "take":
		return d.take(n[0], n[1], out)
	}
	return d.close()
}

func (d *goDriver) next() (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.wait)
	defer cancel()
	return d.ids.NextContext(ctx)
}

func (d *goDriver) take(n, takers int, out io.Writer) error {
	var mu sync.Mutex
	var failed error
	var group sync.WaitGroup
	for range takers {
		group.Go(func() {
			for range n / takers {
				id, err := d.next()
				mu.Lock()
				if err == nil {
					_, err = fmt.Fprintln(out, id)
				}
				if err != nil {
					failed = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return failed
}

func (d *goDriver) close() error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for {
			if _, err := d.next(); err == client.ErrClosed {
				return
			}
		}
	}()
	err := d.ids.Close()
	<-closed
	if err != nil {
		return err
	}
	_, err = d.ids.Next()
	return err
}

func kindOf(err error) string {
	if p, ok := errors.AsType[*client.ProblemError](err); ok && err == error(p) {
		return fmt.Sprintf("rejected %d %s", p.Status, p.Type)
	}
	if _, ok := errors.AsType[*client.UnavailableError](err); ok {
		return "unavailable"
	}
	if err == client.ErrClosed {
		return "closed"
	}
	return "invalid"
}
