package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/mod/modfile"
	"golang.org/x/sync/errgroup"
)

// tidy is go mod tidy for all modules, as if the siblings in this tree were published. It writes
// the files, or fails with the names of the files that differ.
func (r *repository) tidy(ctx context.Context, write bool) error {
	sums := make(map[string][]byte)
	var mu sync.Mutex // of sums
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for _, m := range r.modules {
		group.Go(func() error {
			file, sum, err := r.tidied(ctx, m)
			if err != nil {
				return fmt.Errorf("%s: %w", m.dir, err)
			}
			mu.Lock()
			defer mu.Unlock()
			m.file, sums[path.Join(m.dir, "go.sum")] = file, sum
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	contents, err := r.files(r.version())
	if err != nil {
		return err
	}
	maps.Copy(contents, sums)
	if write {
		return r.write(contents)
	}
	names, err := r.stale(contents)
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("not tidy: %s; run make tidy", strings.Join(names, ", "))
	}
	return err
}

// tidied returns the tidy go.mod and go.sum of a module. The go command works on a copy of
// go.mod that replaces all siblings by their folders, which files drops again. The hashes of
// siblings, which their publication decides, stay out of go.sum.
func (r *repository) tidied(ctx context.Context, m *module) (file *modfile.File, sum []byte, err error) {
	temp, err := os.MkdirTemp("", "tidy-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(temp)
	modName, sumName := filepath.Join(temp, "go.mod"), filepath.Join(temp, "go.sum")
	dir := filepath.Join(r.root, m.dir)
	sum, err = os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	data, err := r.replaced(m)
	if err := errors.Join(err, os.WriteFile(modName, data, 0o600), os.WriteFile(sumName, sum, 0o600)); err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "tidy", "-modfile="+modName)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("go mod tidy: %w\n%s", err, bytes.TrimSpace(out))
	}
	if data, err = os.ReadFile(modName); err == nil {
		file, err = modfile.Parse(path.Join(m.dir, "go.mod"), data, nil)
	}
	sum, errSum := os.ReadFile(sumName)
	return file, sum, errors.Join(err, errSum)
}

// replaced is the module's go.mod with a replace line for each sibling.
func (r *repository) replaced(m *module) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(r.root, m.dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		return nil, err
	}
	for _, sibling := range r.modules {
		dir, err := filepath.Abs(filepath.Join(r.root, sibling.dir))
		if err != nil {
			return nil, err
		}
		if sibling == m {
			continue
		}
		if err := file.AddReplace(sibling.path, "", dir, ""); err != nil {
			return nil, err
		}
	}
	return file.Format()
}
