package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
		m := &module{dir: path.Clean(use.Path)}
		name := path.Join(m.dir, "go.mod")
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		if m.file, err = modfile.Parse(name, data, nil); err != nil {
			return nil, err
		}
		m.path = m.file.Module.Mod.Path
		r.modules = append(r.modules, m)
	}
	if len(r.modules) == 0 || r.modules[0].dir != "." || len(work.Replace) == 0 {
		return nil, errors.New("go.work: want the root module as its first use, and replace lines with the version")
	}
	return r, nil
}

// published returns the modules that users can install: they get tags.
func (r *repository) published() []*module {
	return slices.DeleteFunc(slices.Clone(r.modules), func(m *module) bool { return slices.Contains(strings.Split(m.dir, "/"), "internal") })
}

// tag is the git tag by which the go command finds a version of the module.
func (m *module) tag(version string) string { return path.Join(m.dir, version) }

// version returns the version at which the modules require each other.
func (r *repository) version() string { return r.work.Replace[0].Old.Version }

// files returns the contents of every go.mod and of go.work, by name: the modules require each
// other at version, have the Go version of go.work, and replace no module. go.work replaces each
// required module: the go command looks for the go.mod of a required version even when go.work
// uses the folder, and a version being prepared cannot be fetched.
func (r *repository) files(version string) (map[string][]byte, error) {
	contents := make(map[string][]byte)
	required := make(map[string]bool)
	for _, m := range r.modules {
		errs := []error{m.file.AddGoStmt(r.work.Go.Version)}
		for _, q := range slices.Clone(m.file.Replace) {
			errs = append(errs, m.file.DropReplace(q.Old.Path, q.Old.Version))
		}
		for _, sibling := range r.modules {
			if slices.ContainsFunc(m.file.Require, func(q *modfile.Require) bool { return q.Mod.Path == sibling.path }) {
				required[sibling.path] = true
				errs = append(errs, m.file.AddRequire(sibling.path, version))
			}
		}
		m.file.Cleanup()
		data, err := m.file.Format()
		if err := errors.Join(append(errs, err)...); err != nil {
			return nil, fmt.Errorf("%s: %w", m.dir, err)
		}
		contents[path.Join(m.dir, "go.mod")] = data
	}
	for _, m := range r.modules {
		if required[m.path] {
			if err := r.work.AddReplace(m.path, version, strings.TrimSuffix("./"+m.dir, "."), ""); err != nil {
				return nil, err
			}
		}
	}
	for _, q := range slices.Clone(r.work.Replace) {
		if q.Old.Version != version || !required[q.Old.Path] {
			if err := r.work.DropReplace(q.Old.Path, q.Old.Version); err != nil {
				return nil, err
			}
		}
	}
	r.work.Cleanup()
	contents["go.work"] = modfile.Format(r.work.Syntax)
	return contents, nil
}

// stale returns the names of the files whose contents differ, sorted.
func (r *repository) stale(contents map[string][]byte) (names []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		old, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if !bytes.Equal(old, contents[name]) {
			names = append(names, name)
		}
	}
	return names, nil
}

// write writes files of the repository.
func (r *repository) write(contents map[string][]byte) error {
	names, err := r.stale(contents)
	for _, name := range names {
		err = errors.Join(err, os.WriteFile(filepath.Join(r.root, name), contents[name], 0o644))
	}
	return err
}

// setVersion writes the version at which the modules require each other.
func (r *repository) setVersion(version string) error {
	contents, err := r.files(version)
	if err != nil {
		return err
	}
	return r.write(contents)
}
