package main

import (
	"bytes"
	"encoding/json"
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

	modpath "golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
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

// TestRehearsal releases a copy of the working tree at a version of its own, serves it as a module
// proxy does, and installs it as users do, without a workspace.
func TestRehearsal(t *testing.T) {
	if testing.Short() {
		t.Skip("builds all programs of the repository")
	}
	version := fmt.Sprintf("v0.%d.0", time.Now().UnixNano())
	tree := copyTree(t)
	repo := releaseCopy(t, tree, version)
	proxy := makeProxy(t, repo, version)
	c := newConsumer(t, repo, proxy, version)

	for _, m := range repo.modules {
		command, isCommand := commands[m.dir]
		switch {
		case m.internal():
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
	for name, program := range documentedPrograms(t, tree) {
		t.Run("build the program of "+name, func(t *testing.T) {
			dir := c.newModule(t)
			writeFile(t, filepath.Join(dir, "main.go"), []byte(program))
			c.goTool(t, dir, "", "mod", "tidy")
			c.goTool(t, dir, "", "build", "-o", os.DevNull, ".")
			if out := c.goTool(t, dir, "", "list", "-m", repo.modules[0].path); !strings.Contains(out, version) {
				t.Errorf("go mod tidy selected %s, want %s", out, version)
			}
		})
	}
}

// copyTree copies the files of the repository that git has, or would have after git add, and
// returns the folder.
func copyTree(t *testing.T) string {
	t.Helper()
	const root = "../../.."
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git ls-files: %v", err)
	}
	tree := t.TempDir()
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) { // deleted, and not committed yet
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(tree, name), data)
	}
	return tree
}

// releaseCopy releases a copy of the repository: the program that this test belongs to has to
// accept it.
func releaseCopy(t *testing.T, tree, version string) *repository {
	t.Helper()
	name := filepath.Join(tree, "CHANGELOG.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	heading := "## Unreleased\n\n## " + strings.TrimPrefix(version, "v") + " - 2026-11-22\n\n- A rehearsal.\n"
	writeFile(t, name, bytes.Replace(text, []byte("## Unreleased\n"), []byte(heading), 1))
	repo, err := openRepository(tree)
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.release(version, nil, io.Discard); err != nil {
		t.Fatal(err)
	}
	return repo
}

// makeProxy writes the published modules as a module proxy serves them, and returns the folder.
func makeProxy(t *testing.T, repo *repository, version string) string {
	t.Helper()
	proxy := t.TempDir()
	for _, m := range repo.modules {
		if m.internal() {
			continue
		}
		if escaped, err := modpath.EscapePath(m.path); err != nil || escaped != m.path {
			t.Fatalf("module path %s: want lower case, which needs no escapes in a proxy: %v", m.path, err)
		}
		var archive bytes.Buffer
		dir := filepath.Join(repo.root, m.dir)
		if err := modzip.CreateFromDir(&archive, modpath.Version{Path: m.path, Version: version}, dir); err != nil {
			t.Fatal(err)
		}
		info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC()})
		if err != nil {
			t.Fatal(err)
		}
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for suffix, data := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": mod, version + ".zip": archive.Bytes()} {
			writeFile(t, filepath.Join(proxy, m.path, "@v", suffix), data)
		}
	}
	return proxy
}

// A consumer runs the go command as a user of the modules does.
type consumer struct{ env []string }

// newConsumer downloads the third-party modules. Without them it skips the test, and with CI=true
// it fails the test.
//
// The go command shares the cache of the machine, so that it downloads and compiles little; the
// rehearsal's own modules are removed from it in the end. A cache that cannot be written serves as
// a proxy for a temporary one.
func newConsumer(t *testing.T, repo *repository, proxy, version string) *consumer {
	t.Helper()
	scope := path.Dir(repo.modules[0].path)
	cache := goEnv(t, "GOMODCACHE")
	proxies := fileURL(proxy) + "," + fileURL(filepath.Join(cache, "cache", "download")) + "," + goEnv(t, "GOPROXY")
	// No GONOPROXY: with one, go get of a nested module fails once its parent is in the cache.
	c := &consumer{env: append(os.Environ(), "GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOPRIVATE=", "GONOPROXY=",
		"GOPROXY="+proxies, "GOSUMDB="+goEnv(t, "GOSUMDB"), "GONOSUMDB="+scope+","+goEnv(t, "GONOSUMDB"))}
	if err := writable(cache); err == nil {
		t.Cleanup(func() { sweep(t, cache, repo, version) })
		c.env = append(c.env, "GOMODCACHE="+cache, "GOFLAGS=-mod=mod")
	} else {
		t.Logf("module cache: %v: using a temporary one", err)
		c.env = append(c.env, "GOMODCACHE="+t.TempDir(), "GOFLAGS=-mod=mod -modcacherw")
	}
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
	for _, m := range repo.modules {
		for _, q := range m.file.Require {
			if !m.internal() && repo.find(q.Mod.Path) == nil {
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

// goTool runs the go command in a folder, with a variable of the environment or "", and returns its
// output.
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

// documentedPrograms returns the Go programs in README.md and docs, by the file's name and number.
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

func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "rehearsal-")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func fileURL(dir string) string { return "file://" + filepath.ToSlash(dir) }

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
