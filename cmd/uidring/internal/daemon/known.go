package daemon

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A knownStore is a namespace of a store on this host that a server has used. It is kept as a file
// of the folder Config.KnownStores, named after its ID.
type knownStore struct {
	Path      string
	Namespace string
	ID        string // of the namespace: random, and the same in copies of the store
	Since     time.Time
}

// exists reports whether the path of the store exists and is not an empty file.
func (k knownStore) exists() bool {
	info, err := os.Stat(k.Path)
	return err == nil && (info.IsDir() || info.Size() > 0)
}

// isAt reports whether path leads to the file of the store.
func (k knownStore) isAt(path string) bool {
	if k.Path == path {
		return true
	}
	mine, err := os.Stat(k.Path)
	if err != nil {
		return false
	}
	other, err := os.Stat(path)
	return err == nil && os.SameFile(mine, other)
}

// knownStores returns the stores of a namespace that a folder lists. It returns the readable ones
// together with an error for the others.
func knownStores(folder, namespace string) (known []knownStore, err error) {
	if folder == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	errs := []error{err}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".json" {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		var k knownStore
		raw, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(raw, &k)
		}
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("note of a store %s: %w", path, err))
		case k.Namespace == namespace:
			known = append(known, k)
		}
	}
	return known, errors.Join(errs...)
}

// note writes a store into a folder, and removes former stores of the same path.
func (k knownStore) note(folder string, known []knownStore) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	raw, err := json.Marshal(k)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, "new-")
	if err != nil {
		return err
	}
	_, err = file.Write(raw)
	if err = cmp.Or(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), k.file(folder))
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return err
	}
	for _, old := range known {
		if old.Path == k.Path && old.ID != k.ID {
			err = errors.Join(err, os.Remove(old.file(folder)))
		}
	}
	return err
}

func (k knownStore) file(folder string) string { return filepath.Join(folder, k.ID+".json") }
