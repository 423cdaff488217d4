package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// commands are the published modules that are programs, with arguments and a pattern that the
// output for each matches. All other published modules are libraries.
var commands = map[string]struct {
	args []string
	want string
}{
	"cmd/uidring": {[]string{"version", "--version"}, `^uidring VERSION \(go1\.`},
	"bench":       {[]string{"-h"}, `bench`},
}

// TestRehearsal releases a copy of the working tree at a version of its own, serves it as a
// module proxy does, and installs it as users do, without a workspace.
func TestRehearsal(t *testing.T) {
	if testing.Short() {
		t.Skip("builds all programs of the repository")
	}
	version := fmt.Sprintf("v0.%d.0", time.Now().UnixNano())
	repo, proxy := releaseCopy(t, version), t.TempDir()
	if err := repo.writeProxy(proxy, version); err != nil {
		t.Fatal(err)
	}
	c := newConsumer(t, repo, proxy, version)

	for _, m := range repo.published() {
		command, isCommand := commands[m.dir]
		switch {
		case isCommand:
			t.Run("go install "+m.path, func(t *testing.T) {
				bin := t.TempDir()
				c.goTool(t, t.TempDir(), "GOBIN="+bin, "install", m.path+"@"+version)
				want := regexp.MustCompile(strings.ReplaceAll(command.want, "VERSION", regexp.QuoteMeta(version)))
				for _, arg := range command.args {
					out, err := exec.CommandContext(t.Context(), filepath.Join(bin, path.Base(m.path)), arg).CombinedOutput()
					if err != nil || !want.Match(out) {
						t.Errorf("%s %s: %v, want output %s, got\n%s", m.path, arg, err, want, out)
					}
				}
			})
		default:
			t.Run("go get "+m.path, func(t *testing.T) {
				dir := c.newModule(t)
				c.goTool(t, dir, "", "get", m.path+"@"+version)
				if out := c.goTool(t, dir, "", "build", m.path+"/..."); strings.Contains(out, "matched no packages") {
					t.Error(out)
				}
			})
		}
	}
	for name, program := range documentedPrograms(t, repo.root) {
		t.Run("build the program of "+name, func(t *testing.T) {
			dir := c.newModule(t)
			if err := writeFile(filepath.Join(dir, "main.go"), []byte(program)); err != nil {
				t.Fatal(err)
			}
			c.goTool(t, dir, "", "mod", "tidy")
			c.goTool(t, dir, "", "build", "-o", os.DevNull, ".")
			if out := c.goTool(t, dir, "", "list", "-m", repo.modules[0].path); !strings.Contains(out, version) {
				t.Errorf("go mod tidy selected %s, want %s", out, version)
			}
		})
	}
}

// releaseCopy releases a copy of the working tree.
func releaseCopy(t *testing.T, version string) *repository {
	t.Helper()
	repo, err := copyTree(t.Context(), "../../..", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(repo.root, "CHANGELOG.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	heading := "## Unreleased\n\n## " + strings.TrimPrefix(version, "v") + " - 2026-11-22\n"
	text = bytes.Replace(text, []byte("## Unreleased\n"), []byte(heading), 1)
	if err := errors.Join(writeFile(name, text), repo.release(version, io.Discard)); err != nil {
		t.Fatal(err)
	}
	return repo
}

// A consumer runs the go command as a user of the modules does.
type consumer struct{ env []string }

// newConsumer downloads the third-party modules. Without them it skips the test, and with CI=true
// it fails the test.
//
// The go command shares the cache of the machine, so that it downloads and compiles little; the
// rehearsal's own modules are removed from it in the end.
func newConsumer(t *testing.T, repo *repository, proxy, version string) *consumer {
	t.Helper()
	scope := path.Dir(repo.modules[0].path)
	cache := goEnv(t, "GOMODCACHE")
	proxies := fileURL(proxy) + "," + fileURL(filepath.Join(cache, "cache", "download")) + "," + goEnv(t, "GOPROXY")
	// No GONOPROXY: with one, go get of a nested module fails once its parent is in the cache.
	c := &consumer{env: append(os.Environ(), "GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOPRIVATE=", "GONOPROXY=",
		"GOPROXY="+proxies, "GOSUMDB="+goEnv(t, "GOSUMDB"), "GONOSUMDB="+scope+","+goEnv(t, "GONOSUMDB"))}
	c.env = append(c.env, "GOMODCACHE="+cache, "GOFLAGS=-mod=mod")
	t.Cleanup(func() { sweep(t, cache, repo, version) })
	download := exec.CommandContext(t.Context(), "go", append([]string{"mod", "download"}, thirdParty(repo)...)...)
	download.Dir, download.Env = t.TempDir(), c.env
	if out, err := download.CombinedOutput(); err != nil {
		const format = "rehearsal: missing: third-party modules (go mod download: %v)\n%s"
		if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci {
			t.Fatalf(format, err, out)
		}
		t.Skipf(format, err, out)
	}
	return c
}

// thirdParty returns the requirements of the published modules outside of the repository, as
// path@version.
func thirdParty(repo *repository) []string {
	var list []string
	for _, m := range repo.published() {
		for _, q := range m.file.Require {
			if !strings.HasPrefix(q.Mod.Path, repo.modules[0].path) {
				list = append(list, q.Mod.String())
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// newModule makes a module without requirements.
func (c *consumer) newModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	c.goTool(t, dir, "", "mod", "init", "example.com/consumer")
	return dir
}

// goTool runs the go command in a folder, with a variable of the environment or "", and returns
// its output.
func (c *consumer) goTool(t *testing.T, dir, variable string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = dir, slices.Clone(c.env)
	if variable != "" {
		cmd.Env = append(cmd.Env, variable)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// sweep removes the version of the repository's modules from the module cache.
func sweep(t *testing.T, cache string, repo *repository, version string) {
	for _, m := range repo.modules {
		if err := removeReadOnly(filepath.Join(cache, m.path+"@"+version)); err != nil {
			t.Errorf("module cache: %v", err)
		}
		downloads := filepath.Join(cache, "cache", "download", m.path, "@v")
		files, err := filepath.Glob(filepath.Join(downloads, version+".*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range append(files, filepath.Join(downloads, "list")) { // the go command makes lists anew
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("module cache: %v", err)
			}
		}
	}
}

// removeReadOnly removes a folder of the module cache, whose folders are read-only.
func removeReadOnly(dir string) error {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(name, 0o700)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}

// documentedPrograms returns the Go programs in README.md and docs, by the file's name and
// number.
func documentedPrograms(t *testing.T, tree string) map[string]string {
	t.Helper()
	docs, err := filepath.Glob(filepath.Join(tree, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	programs := map[string]string{}
	block := regexp.MustCompile("(?s)```go\n(package main\n.*?)```")
	for _, name := range append(docs, filepath.Join(tree, "README.md")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, found := range block.FindAllSubmatch(text, -1) {
			programs[fmt.Sprintf("%s %d", filepath.Base(name), i+1)] = string(found[1])
		}
	}
	if len(programs) == 0 {
		t.Error("README.md has no Go program")
	}
	return programs
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
