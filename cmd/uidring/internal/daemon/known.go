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

// A knownStore is the store on this host that a server of a namespace has used last. It is kept as
// a file of the folder Config.KnownStores.
type knownStore struct {
	Path  string
	ID    string // of the namespace: random, and the same in copies of the store; "": none is known
	Since time.Time
}

// exists reports whether the path of the store exists and is not an empty file.
func (k knownStore) exists() bool {
	info, err := os.Stat(k.Path)
	return err == nil && (info.IsDir() || info.Size() > 0)
}

// isAt reports whether path leads to the file of the store.
func (k knownStore) isAt(path string) bool {
	mine, _ := os.Stat(k.Path) // nil is no file
	other, _ := os.Stat(path)
	return k.Path == path || os.SameFile(mine, other)
}

// readKnown returns the store of a namespace that a folder has a note of, or the zero knownStore.
func readKnown(folder, namespace string) (k knownStore, err error) {
	if folder == "" {
		return k, nil
	}
	raw, err := os.ReadFile(noteFile(folder, namespace))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return k, nil
	case err != nil:
		return k, err
	}
	if err := json.Unmarshal(raw, &k); err != nil {
		return knownStore{}, fmt.Errorf("%s: %w", noteFile(folder, namespace), err)
	}
	return k, nil
}

// note writes the store into a folder, in place of an earlier one.
func (k knownStore) note(folder, namespace string) error {
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
		err = os.Rename(file.Name(), noteFile(folder, namespace))
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}

// noteFile returns the file of a namespace, whose name has letters, digits and . _ - only.
func noteFile(folder, namespace string) string { return filepath.Join(folder, namespace+".json") }
