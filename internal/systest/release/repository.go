package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// A repository is go.work and the modules that it uses.
type repository struct {
	root    string // folder of go.work
	work    *modfile.WorkFile
	modules []*module // the root module first
}

// A module is one go.mod.
type module struct {
	path string
	dir  string // slash-separated, below the root; "." for the root module
	file *modfile.File
}

// openRepository reads go.work in a folder, and the go.mod of each module that go.work uses.
func openRepository(root string) (*repository, error) {
	data, err := os.ReadFile(filepath.Join(root, "go.work"))
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork("go.work", data, nil)
	if err != nil {
		return nil, err
	}
	r := &repository{root: root, work: work}
	for _, use := range work.Use {
		m, err := readModule(root, path.Clean(use.Path))
		if err != nil {
			return nil, err
		}
		r.modules = append(r.modules, m)
	}
	if len(r.modules) == 0 || r.modules[0].dir != "." {
		return nil, errors.New("go.work: the first use has to be the root module")
	}
	return r, nil
}

func readModule(root, dir string) (*module, error) {
	name := path.Join(dir, "go.mod")
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse(name, data, nil)
	if err != nil {
		return nil, err
	}
	if file.Module == nil || file.Go == nil {
		return nil, fmt.Errorf("%s: the module or go line is missing", name)
	}
	return &module{path: file.Module.Mod.Path, dir: dir, file: file}, nil
}

// internal says that the module is for this repository only: it gets no tag.
func (m *module) internal() bool { return slices.Contains(strings.Split(m.dir, "/"), "internal") }

// tag is the git tag by which the go command finds a version of the module.
func (m *module) tag(version string) string { return path.Join(m.dir, version) }

// find returns the module of this repository with an import path, or nil.
func (r *repository) find(path string) *module {
	for _, m := range r.modules {
		if m.path == path {
			return m
		}
	}
	return nil
}

// siblings returns the requirements of a go.mod on modules of this repository.
func (r *repository) siblings(file *modfile.File) []*modfile.Require {
	return slices.DeleteFunc(slices.Clone(file.Require), func(q *modfile.Require) bool { return r.find(q.Mod.Path) == nil })
}

// version returns the version at which the first module with siblings requires them; check compares
// the others.
func (r *repository) version() (string, error) {
	for _, m := range r.modules {
		if siblings := r.siblings(m.file); len(siblings) > 0 {
			return siblings[0].Mod.Version, nil
		}
	}
	return "", errors.New("no go.mod requires another module of this repository")
}

// check reports all disagreements between the go.mod files, go.work and the folders.
func (r *repository) check() error {
	version, err := r.version()
	if err != nil {
		return err
	}
	var errs []error
	say := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, m := range r.modules {
		name := path.Join(m.dir, "go.mod")
		if want := path.Join(r.modules[0].path, m.dir); m.path != want {
			say("%s: module %s, want %s", name, m.path, want)
		}
		if m.file.Go.Version != r.work.Go.Version {
			say("%s: go %s, want %s as in go.work", name, m.file.Go.Version, r.work.Go.Version)
		}
		for _, replace := range m.file.Replace {
			say("%s: replace %s: go install refuses modules that replace others; go.work is the place", name, replace.Old.Path)
		}
		for _, q := range r.siblings(m.file) {
			if q.Mod.Version != version {
				say("%s: %s %s, want %s as elsewhere", name, q.Mod.Path, q.Mod.Version, version)
			}
		}
	}
	if got, want := r.replaceLines(), r.wantReplaces(version); !slices.Equal(got, want) {
		say("go.work: replace %q, want %q", got, want)
	}
	return errors.Join(append(errs, r.checkFolders())...)
}

// checkFolders finds modules that go.work does not use.
func (r *repository) checkFolders() error {
	var errs []error
	err := fs.WalkDir(os.DirFS(r.root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.Name() == "go.mod" && !slices.ContainsFunc(r.modules, func(m *module) bool { return m.dir == path.Dir(name) }):
			errs = append(errs, fmt.Errorf("%s: go.work does not use it", name))
		}
		return nil
	})
	return errors.Join(append(errs, err)...)
}

// replaceLines returns the replace lines of go.work, sorted.
func (r *repository) replaceLines() []string {
	var lines []string
	for _, q := range r.work.Replace {
		lines = append(lines, replaceLine(q))
	}
	slices.Sort(lines)
	return lines
}

func replaceLine(q *modfile.Replace) string {
	return q.Old.Path + " " + q.Old.Version + " => " + q.New.Path
}

// wantReplaces returns the replace lines that go.work needs, sorted. The go command looks for the
// go.mod of a required version even when go.work uses the module's folder, and a version being
// prepared cannot be fetched.
func (r *repository) wantReplaces(version string) []string {
	var lines []string
	for _, m := range r.required() {
		lines = append(lines, m.path+" "+version+" => "+folder(m))
	}
	slices.Sort(lines)
	return lines
}

// required returns the modules that others of this repository require.
func (r *repository) required() []*module {
	return slices.DeleteFunc(slices.Clone(r.modules), func(m *module) bool {
		return !slices.ContainsFunc(r.modules, func(other *module) bool {
			return slices.ContainsFunc(other.file.Require, func(q *modfile.Require) bool { return q.Mod.Path == m.path })
		})
	})
}

// folder is the module's folder as go.work writes it.
func folder(m *module) string {
	if m.dir == "." {
		return "./"
	}
	return "./" + m.dir
}

// files returns the contents of every go.mod and of go.work, by name, with the version at which the
// modules require each other.
func (r *repository) files(version string) (map[string][]byte, error) {
	contents := map[string][]byte{}
	for _, m := range r.modules {
		for _, q := range r.siblings(m.file) {
			if err := m.file.AddRequire(q.Mod.Path, version); err != nil {
				return nil, err
			}
		}
		data, err := m.file.Format()
		if err != nil {
			return nil, err
		}
		contents[path.Join(m.dir, "go.mod")] = data
	}
	if err := r.replaceInWork(version); err != nil {
		return nil, err
	}
	contents["go.work"] = modfile.Format(r.work.Syntax)
	return contents, nil
}

// replaceInWork sets the replace lines of go.work. It adds before it drops, so that a block of them
// stays one.
func (r *repository) replaceInWork(version string) error {
	for _, m := range r.required() {
		if err := r.work.AddReplace(m.path, version, folder(m), ""); err != nil {
			return err
		}
	}
	want := r.wantReplaces(version)
	for _, q := range slices.Clone(r.work.Replace) {
		if r.find(q.Old.Path) == nil || slices.Contains(want, replaceLine(q)) {
			continue
		}
		if err := r.work.DropReplace(q.Old.Path, q.Old.Version); err != nil {
			return err
		}
	}
	r.work.Cleanup()
	return nil
}

// stale returns those names of files whose contents in the repository differ, sorted.
func (r *repository) stale(contents map[string][]byte) ([]string, error) {
	var names []string
	for name, data := range contents {
		old, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if !bytes.Equal(old, data) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// write writes some files of the repository.
func (r *repository) write(names []string, contents map[string][]byte) error {
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(r.root, name), contents[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}
