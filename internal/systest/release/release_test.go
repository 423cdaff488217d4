package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inOrder is a repository of four modules whose next version is v0.3.0.
func inOrder() map[string]string {
	return map[string]string{
		"go.work": "go 1.26.0\n\nuse (\n\t.\n\t./cache\n\t./internal/check\n\t./store\n)\n\n" +
			"replace (\n\texample.com/lib v0.2.0 => ./\n\texample.com/lib/store v0.2.0 => ./store\n)\n",
		"go.mod":                  "module example.com/lib\n\ngo 1.26.0\n",
		"lib.go":                  "package lib\n",
		"cache/go.mod":            "module example.com/lib/cache\n\ngo 1.26.0\n\nrequire example.com/lib v0.2.0\n",
		"cache/cache.go":          "package cache\n\nimport _ \"example.com/lib\"\n",
		"store/go.mod":            "module example.com/lib/store\n\ngo 1.26.0\n",
		"store/store.go":          "package store\n",
		"internal/check/go.mod":   "module example.com/lib/internal/check\n\ngo 1.26.0\n\nrequire example.com/lib/store v0.2.0\n",
		"internal/check/check.go": "package check\n\nimport _ \"example.com/lib/store\"\n",
		"CHANGELOG.md":            "# Changelog\n\n## Unreleased\n\n## 0.3.0 - 2027-01-31\n\n- New.\n",
	}
}

// enter writes files into a folder and makes it the working directory. It returns a func that
// reads a file there.
func enter(t *testing.T, files map[string]string) func(name string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		if err := writeFile(filepath.Join(root, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(root)
	return func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

func TestReleaseSetsTheVersionAndPrintsTheCommands(t *testing.T) {
	read := enter(t, inOrder())
	var out strings.Builder
	if err := run(t.Context(), []string{"v0.3.0"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.work", "cache/go.mod", "internal/check/go.mod"} {
		if want := strings.ReplaceAll(inOrder()[name], "v0.2.0", "v0.3.0"); read(name) != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, read(name), want)
		}
	}
	if want := "git push --atomic origin HEAD v0.3.0 cache/v0.3.0 store/v0.3.0\n"; !strings.Contains(out.String(), want) {
		t.Errorf("no %s in\n%s", want, &out)
	}
}

func TestTidyWritesWhatDiffReports(t *testing.T) {
	files := inOrder()
	want := maps.Clone(files)
	files["internal/check/go.mod"] = "module example.com/lib/internal/check\n\ngo 1.25.0\n\nrequire example.com/lib/store v0.1.0\n\nreplace example.com/lib => ../..\n"
	files["internal/check/check.go"] = "package check\n\nimport _ \"example.com/lib/cache\"\n"
	want["internal/check/go.mod"] = "module example.com/lib/internal/check\n\ngo 1.26.0\n\nrequire example.com/lib/cache v0.2.0\n\nrequire example.com/lib v0.2.0 // indirect\n"
	read := enter(t, files)
	err := run(t.Context(), []string{"tidy", "-diff"}, t.Output())
	if err == nil || !strings.Contains(err.Error(), "not tidy: go.work, internal/check/go.mod; run make tidy") {
		t.Errorf("tidy -diff: %v", err)
	}
	for _, args := range [][]string{{"tidy"}, {"tidy", "-diff"}} {
		if err := run(t.Context(), args, t.Output()); err != nil {
			t.Fatal(err)
		}
	}
	if work := read("go.work"); !strings.Contains(work, "example.com/lib/cache v0.2.0 => ./cache") || strings.Contains(work, "example.com/lib/store v") {
		t.Errorf("go.work replaces other modules than the required ones:\n%s", work)
	}
	for _, name := range []string{"internal/check/go.mod", "cache/go.mod"} {
		if read(name) != want[name] {
			t.Errorf("%s:\n%s\nwant\n%s", name, read(name), want[name])
		}
	}
}

func TestReleaseRefuses(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"", "allowed: a VERSION"},
		{"tidy -x", "allowed: a VERSION"},
		{"0.3.0", "allowed: a VERSION"},
		{"v0.4.0", "CHANGELOG.md: want the line ## 0.4.0 - YYYY-MM-DD"},
	} {
		read := enter(t, inOrder())
		if err := run(t.Context(), strings.Fields(tt.args), t.Output()); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.args, err, tt.want)
		}
		if read("go.work") != inOrder()["go.work"] {
			t.Errorf("%q changed go.work", tt.args)
		}
	}
}
