// Package release rehearses a release. It contains only tests.
package release

import (
	"fmt"
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

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

const root = "github.com/uidring/uidring"

// commands are the published modules that are programs, with arguments, and a pattern that the
// output matches. All other published modules are libraries.
var commands = map[string]struct{ arg, want string }{
	"cmd/uidring": {"--version", `^uidring version VERSION, go1\.`},
	"bench":       {"-h", `bench`},
}

// copyTree copies the files that git has, or would have after git add, into a repository of their
// own.
const copyTree = `cd ../../../.. && git ls-files -z --cached --others --exclude-standard | tar --null -T - --ignore-failed-read -c | tar -x -C "$0"
cd "$0" && git init -q && git add -A`

// sweep removes a version of the modules from the module cache. The go command makes lists anew.
const sweep = `cd "$0" && for module in $(find github.com/uidring -name "*@$1" -prune); do chmod -R u+w "$module" && rm -rf "$module"; done
find cache/download/github.com/uidring \( -name "$1.*" -o -name list \) -delete`

// TestRehearsal releases a copy of the working tree at a version of its own, serves it as a module
// proxy does, and installs it as users do, without a workspace.
func TestRehearsal(t *testing.T) {
	if testing.Short() {
		t.Skip("builds all programs of the repository")
	}
	version := fmt.Sprintf("v0.%d.0", time.Now().UnixNano())
	tree, proxy, cache := t.TempDir(), t.TempDir(), goEnv(t, "GOMODCACHE")
	run(t, ".", nil, "sh", "-c", copyTree, tree)
	tags := release(t, tree, version)
	run(t, tree, nil, ".ci/release", "proxy", proxy, version)
	// The go command shares the cache of the machine, so that it downloads and compiles little.
	t.Cleanup(func() { run(t, ".", nil, "sh", "-c", sweep, cache, version) })
	proxies := "file://" + proxy + ",file://" + filepath.Join(cache, "cache", "download") + "," + goEnv(t, "GOPROXY")
	// No GONOPROXY: with one, go get of a nested module fails once its parent is in the cache.
	env := []string{"GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOPRIVATE=", "GONOPROXY=", "GOPROXY=" + proxies, "GOSUMDB=" + goEnv(t, "GOSUMDB"),
		"GONOSUMDB=" + path.Dir(root) + "," + goEnv(t, "GONOSUMDB"), "GOMODCACHE=" + cache, "GOFLAGS=-mod=mod"}
	skipWithoutModules(t, tree, tags, env)

	for _, dir := range tags {
		module := path.Join(root, dir)
		if command, ok := commands[dir]; ok {
			t.Run("go install "+module, func(t *testing.T) {
				bin := t.TempDir()
				run(t, t.TempDir(), append(slices.Clone(env), "GOBIN="+bin), "go", "install", module+"@"+version)
				want := strings.ReplaceAll(command.want, "VERSION", regexp.QuoteMeta(version))
				if out := run(t, bin, nil, filepath.Join(bin, path.Base(module)), command.arg); !regexp.MustCompile(want).MatchString(out) {
					t.Errorf("%s %s: want output %s, got\n%s", module, command.arg, want, out)
				}
			})
			continue
		}
		t.Run("go get "+module, func(t *testing.T) {
			dir := t.TempDir()
			run(t, dir, env, "go", "mod", "init", "example.com/consumer")
			run(t, dir, env, "go", "get", module+"@"+version)
			if out := run(t, dir, env, "go", "build", module+"/..."); strings.Contains(out, "matched no packages") {
				t.Error(out)
			}
		})
	}
	for name, program := range documentedPrograms(t, tree) {
		t.Run("build the program of "+name, func(t *testing.T) {
			dir := t.TempDir()
			testkit.Must(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
			run(t, dir, env, "go", "mod", "init", "example.com/consumer")
			run(t, dir, env, "go", "mod", "tidy")
			run(t, dir, env, "go", "build", "-o", os.DevNull, ".")
			if out := run(t, dir, env, "go", "list", "-m", root); !strings.Contains(out, version) {
				t.Errorf("go mod tidy selected %s, want %s", out, version)
			}
		})
	}
}

// release makes a release of the tree, and returns the folders of the modules that get a tag.
func release(t *testing.T, tree, version string) (folders []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), ".ci/release", version)
	cmd.Dir = tree
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "CHANGELOG.md: want the line") {
		t.Fatalf("a release without a section in CHANGELOG.md: %v\n%s", err, out)
	}
	name := filepath.Join(tree, "CHANGELOG.md")
	text := testkit.ReadFile(t, name)
	section := "## Unreleased\n\n## " + strings.TrimPrefix(version, "v") + " - 2026-11-22\n"
	testkit.Must(t, os.WriteFile(name, []byte(strings.Replace(text, "## Unreleased\n", section, 1)), 0o600))
	out := run(t, tree, nil, ".ci/release", version)
	for _, tag := range regexp.MustCompile(`(?m)^git tag -m '.*' (\S+)$`).FindAllStringSubmatch(out, -1) {
		folders = append(folders, strings.TrimSuffix(strings.TrimSuffix(tag[1], version), "/"))
	}
	if len(folders) < 2 || !strings.Contains(out, "\ngit push --atomic origin HEAD "+version+" ") {
		t.Fatalf("the release prints\n%s", out)
	}
	return folders
}

// skipWithoutModules downloads the third-party modules. Without them it skips the test, and with
// CI=true it fails the test.
func skipWithoutModules(t *testing.T, tree string, folders, env []string) {
	t.Helper()
	for _, folder := range folders {
		cmd := exec.CommandContext(t.Context(), "go", "mod", "download")
		cmd.Dir, cmd.Env = filepath.Join(tree, folder), append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			const format = "rehearsal: missing: modules of %q (go mod download: %v)\n%s"
			if ci, _ := strconv.ParseBool(os.Getenv("CI")); ci {
				t.Fatalf(format, folder, err, out)
			}
			t.Skipf(format, folder, err, out)
		}
	}
}

// run runs a command in a folder, with more variables of the environment, and returns its output.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...) // without the context of the test, which ends before its cleanup
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// documentedPrograms returns the Go programs in README.md and docs, by the file's name and number.
func documentedPrograms(t *testing.T, tree string) map[string]string {
	t.Helper()
	docs, err := filepath.Glob(filepath.Join(tree, "docs", "*.md"))
	testkit.Must(t, err)
	programs := map[string]string{}
	block := regexp.MustCompile("(?s)```go\n(package main\n.*?)```")
	for _, name := range append(docs, filepath.Join(tree, "README.md")) {
		text := testkit.ReadFile(t, name)
		for i, found := range block.FindAllStringSubmatch(text, -1) {
			programs[fmt.Sprintf("%s %d", filepath.Base(name), i+1)] = found[1]
		}
	}
	if len(programs) == 0 {
		t.Error("README.md has no Go program")
	}
	return programs
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(run(t, ".", nil, "go", "env", name))
}

// onlyFile returns the file in the folder of a package.
func onlyFile(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(dir + "/*")
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, %v; want a package", files, err)
	}
	return files[0]
}

// .ci/servers installs setuptools for Debian's Python, which need not be the first one in PATH.
func TestWheelOfThePythonClientCanBeImported(t *testing.T) {
	python := testserver.Program(t, "python3", "python3")
	const tools = "import setuptools.build_meta, wheel"
	if exec.Command(python, "-c", tools).Run() != nil {
		python = "/usr/bin/python3"
	}
	if out, err := exec.Command(python, "-c", tools).CombinedOutput(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v\n%s", err, out)
		}
		t.Skipf("missing: setuptools and wheel (Debian packages python3-setuptools, python3-wheel): %v", err)
	}
	dir, out := t.TempDir(), t.TempDir()
	testkit.Must(t, os.CopyFS(dir, os.DirFS("../../../../clients/python"))) // the build writes beside the sources
	run(t, dir, nil, python, "-c", "import setuptools.build_meta as b, sys; b.build_wheel(sys.argv[1])", out)
	wheel := onlyFile(t, out)
	const program = "import importlib.metadata, importlib.resources, uidring; print(uidring.__file__, importlib.metadata.version('uidring')); " +
		"importlib.resources.read_text('uidring', 'py.typed')"
	if text := run(t, t.TempDir(), []string{"PYTHONPATH=" + wheel}, python, "-c", program); !strings.HasPrefix(text, wheel+"/uidring/__init__.py ") {
		t.Errorf("the program imports %q, want the module in %s", text, wheel)
	}
}

// npm need not be there: .ci/servers has one of its own for a moment.
func TestPackageOfTheJavaScriptClientHasItsFiles(t *testing.T) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip(err)
	}
	out := t.TempDir()
	run(t, "../../../../clients/javascript", nil, npm, "pack", "--silent", "--ignore-scripts", "--pack-destination", out)
	run(t, out, nil, "tar", "-xzf", onlyFile(t, out))
	for _, file := range []string{"README.md", "index.d.ts", "index.js", "package.json"} {
		if _, err := os.Stat(filepath.Join(out, "package", file)); err != nil {
			t.Error(err)
		}
	}
	if node, err := exec.LookPath("node"); err == nil {
		run(t, filepath.Join(out, "package"), nil, node, "-e", "import('./index.js').then((m) => { if (!m.Client) process.exit(1) })")
	}
}
