package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestThisRepository holds the repository's own go.mod files and go.work to the rules.
func TestThisRepository(t *testing.T) {
	repo, err := openRepository("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.check(); err != nil {
		t.Error(err)
	}
}

// inOrder is a repository of four modules whose next version is v0.3.0.
func inOrder() map[string]string {
	return map[string]string{
		"go.work": "go 1.26.0\n\nuse (\n\t.\n\t./cmd/tool\n\t./internal/check\n\t./store\n)\n\n" +
			"// Development.\nreplace (\n\texample.com/lib v0.2.0 => ./\n\texample.com/lib/store v0.2.0 => ./store\n)\n",
		"go.mod": "module example.com/lib\n\ngo 1.26.0\n",
		"lib.go": "package lib\n",
		"cmd/tool/go.mod": "module example.com/lib/cmd/tool\n\ngo 1.26.0\n\n" +
			"require (\n\texample.com/lib v0.2.0\n\texample.com/lib/store v0.2.0\n)\n",
		"cmd/tool/main.go":           "package main\n\nimport (\n\t_ \"example.com/lib\"\n\t_ \"example.com/lib/store\"\n)\n\nfunc main() {}\n",
		"cmd/tool/testdata/x/go.mod": "module example.com/ignored\n",
		"internal/check/go.mod":      "module example.com/lib/internal/check\n\ngo 1.26.0\n\nrequire example.com/lib v0.2.0\n",
		"internal/check/check.go":    "package check\n\nimport _ \"example.com/lib\"\n",
		"store/go.mod":               "module example.com/lib/store\n\ngo 1.26.0\n",
		"store/store.go":             "package store\n",
		"CHANGELOG.md":               "# Changelog\n\n## Unreleased\n\n## 0.3.0 - 2026-11-22\n\n- News.\n\n## 0.2.0 - 2026-10-01\n\n- Old.\n",
	}
}

func openFiles(t *testing.T, files map[string]string) *repository {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		writeFile(t, filepath.Join(root, name), []byte(text))
	}
	repo, err := openRepository(root)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func (r *repository) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestRelease(t *testing.T) {
	repo := openFiles(t, inOrder())
	var out bytes.Buffer
	if err := repo.release("v0.3.0", []string{"v0.2.0", "cmd/tool/v0.2.0"}, &out); err != nil {
		t.Fatal(err)
	}
	const want = "make lint test\n" +
		"git commit -a -m 'Release v0.3.0'\n" +
		"git tag -m 'v0.3.0' v0.3.0\n" +
		"git tag -m 'cmd/tool/v0.3.0' cmd/tool/v0.3.0\n" +
		"git tag -m 'store/v0.3.0' store/v0.3.0\n" +
		"git push --atomic origin HEAD v0.3.0 cmd/tool/v0.3.0 store/v0.3.0\n" +
		"gh workflow run release.yml --ref v0.3.0\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", out.String(), want)
	}
	for name, old := range inOrder() {
		want := old
		if name != "CHANGELOG.md" {
			want = strings.ReplaceAll(old, "v0.2.0", "v0.3.0")
		}
		if got := repo.read(t, name); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}

	// The second time there is no file to change, and thus no commit to make.
	out.Reset()
	if err := repo.release("v0.3.0", nil, &out); err != nil || strings.Contains(out.String(), "commit") {
		t.Errorf("again: %v, printed\n%s", err, out.String())
	}
}

// TestReleaseRefuses changes one file of a repository in order, and expects an error and no change.
func TestReleaseRefuses(t *testing.T) {
	const unreleased = "## Unreleased\n"
	for _, tt := range []struct {
		name, version, file, old, new, want string
	}{
		{"no version", "0.3.0", "", "", "", `version "0.3.0", allowed: v0.N.N and v1.N.N`},
		{"short version", "v0.3", "", "", "", `version "v0.3", allowed: v0.N.N and v1.N.N`},
		{"major version of another path", "v2.0.0", "", "", "", `version "v2.0.0", allowed: v0.N.N and v1.N.N`},
		{"build metadata", "v0.3.0+x", "", "", "", `version "v0.3.0+x", allowed: v0.N.N and v1.N.N`},
		{"below the present version", "v0.1.0", "", "", "", "version v0.1.0, allowed: v0.2.0, which the modules require now, or later"},
		{"tagged", "v0.2.9", "", "", "", "version v0.2.9: tag cmd/tool/v0.2.9 exists"},
		{"no section", "v0.4.0", "", "", "", `CHANGELOG.md: no section "## 0.4.0 - YYYY-MM-DD"`},
		{"section without a date", "v0.3.0", "CHANGELOG.md", " - 2026-11-22", "", `CHANGELOG.md: no section "## 0.3.0 - YYYY-MM-DD"`},
		{"empty section", "v0.3.0", "CHANGELOG.md", "- News.\n", "", `CHANGELOG.md: section "## 0.3.0 - 2026-11-22" is empty`},
		{"unreleased entries", "v0.3.0", "CHANGELOG.md", unreleased, unreleased + "\n- More.\n", "CHANGELOG.md: Unreleased has entries"},
		{"no place for entries", "v0.3.0", "CHANGELOG.md", unreleased, "", `CHANGELOG.md: no section "## Unreleased"`},
		{"replace", "v0.3.0", "cmd/tool/go.mod", "require (", "replace example.com/lib => ../..\n\nrequire (", "cmd/tool/go.mod: replace example.com/lib: go install refuses"},
		{"versions apart", "v0.3.0", "internal/check/go.mod", "v0.2.0", "v0.1.0", "internal/check/go.mod: example.com/lib v0.1.0, want v0.2.0 as elsewhere"},
		{"go versions apart", "v0.3.0", "cmd/tool/go.mod", "go 1.26.0", "go 1.25.0", "cmd/tool/go.mod: go 1.25.0, want 1.26.0 as in go.work"},
		{"another path", "v0.3.0", "cmd/tool/go.mod", "lib/cmd/tool", "lib/tool", "cmd/tool/go.mod: module example.com/lib/tool, want example.com/lib/cmd/tool"},
		{"workspace of another version", "v0.3.0", "go.work", "v0.2.0 => ./\n", "v0.1.0 => ./\n", `go.work: replace ["example.com/lib v0.1.0 => ./" "example.com/lib/store v0.2.0 => ./store"], want ["example.com/lib v0.2.0`},
		{"module outside of the workspace", "v0.3.0", "tools/go.mod", "", "module example.com/lib/tools\n\ngo 1.26.0\n", "tools/go.mod: go.work does not use it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := inOrder()
			if tt.file != "" {
				if !strings.Contains(files[tt.file], tt.old) {
					t.Fatalf("%s has no %q", tt.file, tt.old)
				}
				files[tt.file] = strings.Replace(files[tt.file], tt.old, tt.new, 1)
			}
			repo := openFiles(t, files)
			var out bytes.Buffer
			err := repo.release(tt.version, []string{"cmd/tool/v0.2.9"}, &out)
			if err == nil || !strings.Contains(err.Error(), tt.want) || out.Len() > 0 {
				t.Errorf("error %v, want %s; printed %q", err, tt.want, out.String())
			}
			for name, want := range files {
				if got := repo.read(t, name); got != want {
					t.Errorf("%s has changed:\n%s", name, got)
				}
			}
		})
	}
}

// TestTidy has a module import a new sibling in place of another.
func TestTidy(t *testing.T) {
	files := inOrder()
	files["internal/check/check.go"] = "package check\n\nimport _ \"example.com/lib/cache\"\n"
	files["cache/go.mod"] = "module example.com/lib/cache\n\ngo 1.26.0\n"
	files["cache/cache.go"] = "package cache\n"
	files["go.work"] = strings.Replace(files["go.work"], "\t.\n", "\t.\n\t./cache\n", 1)
	root := openFiles(t, files).root
	tidy := func(write bool) error {
		repo, err := openRepository(root)
		if err != nil {
			t.Fatal(err)
		}
		return repo.tidy(t.Context(), write)
	}

	const names = "not tidy: go.work, internal/check/go.mod; run make tidy"
	if err := tidy(false); err == nil || err.Error() != names {
		t.Fatalf("error %v, want %s", err, names)
	}
	if err := tidy(true); err != nil {
		t.Fatal(err)
	}
	if err := tidy(false); err != nil {
		t.Error(err)
	}
	repo, err := openRepository(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.check(); err != nil {
		t.Error(err)
	}
	for name, want := range files {
		switch name {
		case "go.work": // check has looked at it
			continue
		case "internal/check/go.mod":
			want = "module example.com/lib/internal/check\n\ngo 1.26.0\n\nrequire example.com/lib/cache v0.2.0\n"
		}
		if got := repo.read(t, name); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Chdir(openFiles(t, inOrder()).root)
	for _, args := range [][]string{{}, {"-h"}, {"tidy", "-x"}, {"v0.3.0", "now"}} {
		if err := run(t.Context(), args, t.Output()); err == nil || !strings.Contains(err.Error(), usage) {
			t.Errorf("arguments %q: %v, want %s", args, err, usage)
		}
	}
}
