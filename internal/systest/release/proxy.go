package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	modpath "golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// copyTree copies the files of the repository that git has, or would have after git add, into a
// folder.
func copyTree(ctx context.Context, root, tree string) (*repository, error) {
	cmd := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) { // deleted, and not committed yet
			continue
		}
		if err := errors.Join(err, writeFile(filepath.Join(tree, name), data)); err != nil {
			return nil, err
		}
	}
	return openRepository(tree)
}

// writeProxy writes the published modules at a version, as a module proxy serves them.
func (r *repository) writeProxy(proxy, version string) error {
	for _, m := range r.published() {
		var archive bytes.Buffer
		dir := filepath.Join(r.root, m.dir)
		if err := modzip.CreateFromDir(&archive, modpath.Version{Path: m.path, Version: version}, dir); err != nil {
			return err
		}
		info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC()})
		if err != nil {
			return err
		}
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			return err
		}
		for suffix, data := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": mod, version + ".zip": archive.Bytes()} {
			if err := writeFile(filepath.Join(proxy, m.path, "@v", suffix), data); err != nil {
				return err
			}
		}
	}
	return nil
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

func fileURL(dir string) string { return "file://" + filepath.ToSlash(dir) }
