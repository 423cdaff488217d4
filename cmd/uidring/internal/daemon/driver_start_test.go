package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/process"
	"github.com/uidring/uidring/internal/test/testserver"
)

// exampleOutput is an ID, and in JavaScript a BigInt and JSON.
var exampleOutput = regexp.MustCompile(`^[1-9][0-9]*(n \{"id":"[1-9][0-9]*"\})?\n$`)

// example returns the program in the README of a client, with the URL of a server.
func example(t *testing.T, language, server string) string {
	page, err := os.ReadFile(clientsDir + language + "/README.md")
	must(t, err)
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
		must(t, err)
		file := filepath.Join(dir, "Example.java")
		must(t, os.WriteFile(file, []byte(example), 0o600))
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
	drivers := []*driver{startGo()}
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
		must(t, err)
		t.Cleanup(func() {
			p.Kill()
			_, _ = p.Stdin.Close(), p.Stdout.Close()
		})
		drivers = append(drivers, &driver{
			name: name,
			ask:  func(command string) (string, []int64) { return converse(p, command) },
			end: func() error {
				_ = p.Stdin.Close()
				return p.Wait()
			},
		})
	}
	return drivers
}
