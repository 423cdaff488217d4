package fileassigner

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	mathrand "math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// The files of a LeaseStore.
const (
	lockName  = "lock"           // held during an operation; its text is the ID of the store
	stateName = "state.json"     // holds the same ID
	newName   = "state.json.new" // becomes the state when it is complete
)

// fsync is a variable so that a test can observe the calls.
var fsync = (*os.File).Sync

// A folder is the open folder of a LeaseStore while this process holds its lock.
type folder struct {
	root  *os.Root
	dir   *os.File // the folder itself, for fsync
	lock  *os.File
	state *fileState
	// identity differs for a copy of the folder and for another store at its path.
	identity string
}

// openFolder opens the folder and waits for its lock. The caller must close the folder, which
// releases the lock.
func openFolder(ctx context.Context, path string) (_ *folder, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if path == "" {
		return nil, errors.New("allowed: the path of a folder")
	}
	f := new(folder)
	if f.root, err = os.OpenRoot(path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if f.dir, err = f.root.Open("."); err != nil {
		return nil, err
	}
	if f.lock, err = f.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err := f.acquire(ctx); err != nil {
		return nil, err
	}
	held, err := f.lock.Stat()
	if err != nil {
		return nil, err
	}
	if now, err := f.root.Stat(lockName); err != nil || !os.SameFile(held, now) {
		return nil, fmt.Errorf("%w: %s was replaced while it was waited for", leasestore.ErrDamaged, lockName)
	}
	return f, nil
}

// acquire polls for the lock, since a blocking call cannot be interrupted.
func (f *folder) acquire(ctx context.Context) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 16*time.Millisecond) {
		ok, err := tryLock(f.lock)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("another process holds %s: %w", lockName, ctx.Err())
		case <-time.After(pause/2 + mathrand.N(pause)):
		}
	}
}

// close ignores errors, which are harmless: all writes are synced.
func (f *folder) close() {
	_ = f.lock.Close() // releases the lock
	_ = f.dir.Close()
	_ = f.root.Close()
}

// read loads the state. It creates the first state of an empty folder, unless the store has used a
// folder before. Both files hold the ID of the store, so read can distinguish an empty folder from
// one with a missing file, and detect the state of another store.
func (f *folder) read(used bool) error {
	// A process may have been killed after its rename, which is visible but perhaps not yet on
	// disk.
	if err := fsync(f.dir); err != nil {
		return err
	}
	text, err := io.ReadAll(io.NewSectionReader(f.lock, 0, 1<<10))
	if err != nil {
		return err
	}
	id := string(text)
	raw, err := f.root.ReadFile(stateName)
	switch {
	case errors.Is(err, fs.ErrNotExist) && id == "" && used:
		return replaced("it is empty")
	case errors.Is(err, fs.ErrNotExist) && id == "":
		return f.create()
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %s is missing, and with it all fences; put it back, or use a new folder "+
			"with another DatacenterID", leasestore.ErrDamaged, stateName)
	case err != nil:
		return err
	}
	if f.state, err = decodeState(raw); err != nil {
		return err
	}
	switch {
	case id == f.state.ID:
		return nil
	case f.state.blank() && strings.HasPrefix(f.state.ID, strings.TrimRight(id, "\x00")):
		return f.sign() // the first process ended before it wrote the ID
	default:
		return fmt.Errorf("%w: %s is of store %q, %s of store %q; if they belong together, end all processes that use the folder, "+
			"then put the former into the latter", leasestore.ErrDamaged, stateName, f.state.ID, lockName, id)
	}
}

// create writes a state without rows, and then its ID into the lock file. So a lock file with an ID
// proves that a state existed.
func (f *folder) create() error {
	f.state = &fileState{Reader: stateFormat, ID: rand.Text(), Rows: make(map[int64]leasestore.Row)}
	if err := f.write(); err != nil {
		return err
	}
	return f.sign()
}

func (f *folder) sign() error {
	if _, err := f.lock.WriteAt([]byte(f.state.ID), 0); err != nil {
		return err
	}
	return fsync(f.lock)
}

// write replaces the state. After an error before the rename the old state stands. After an error
// of the last sync either state may survive a crash.
func (f *folder) write() error {
	f.state.Seen = time.Now().UTC()
	body, err := json.Marshal(f.state)
	if err != nil {
		return err
	}
	// A process that was killed may have left an incomplete file.
	file, err := f.root.OpenFile(newName, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(frame(body))
	if err == nil {
		err = fsync(file)
	}
	err = cmp.Or(err, file.Close())
	if err == nil {
		err = f.root.Rename(newName, stateName)
	}
	if err != nil {
		_ = f.root.Remove(newName) // it may fill the disk
		return fmt.Errorf("%w; %s stays as it was", err, stateName)
	}
	return fsync(f.dir) // makes the rename durable
}
