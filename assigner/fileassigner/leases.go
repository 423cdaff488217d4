package fileassigner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/disk"
)

// Config configures a [LeaseStore]. It has no options yet: use its zero value.
type Config struct{}

// LeaseStore returns a store whose namespace is the folder dir, for [assigner.Leased],
// [assigner.Auto] and [assigner.Fenced]:
//
//	numbers := assigner.Leased(fileassigner.LeaseStore("/var/lib/orders/worker-ids", fileassigner.Config{}), assigner.LeaseConfig{})
//
// LeaseStore does not access the folder; each operation opens it. A relative dir stays in the
// working directory of this call. Any number of goroutines may use the store at once.
func LeaseStore(dir string, _ Config) leasestore.Store { return &leases{dir: absolute(dir)} }

// absolute returns the absolute path of dir. An empty one is a mistake, and stays empty.
func absolute(dir string) string {
	if path, err := filepath.Abs(dir); err == nil && dir != "" {
		return path
	}
	return dir
}

// leases is the path of a folder. It keeps no file open between two operations.
type leases struct {
	dir   string
	first atomic.Pointer[string] // the identity of the first folder at the path
}

func (s *leases) Status(ctx context.Context) (st leasestore.Status, err error) {
	err = s.locked(ctx, func(f *folder) error {
		st.Seen, st.Identity = f.state.Seen, f.identity
		st.Faults, err = s.faults()
		return err
	})
	if err != nil {
		return leasestore.Status{}, err
	}
	st.Now, st.Store = time.Now(), "folder "+s.dir
	return st, nil
}

// faults reports a folder that may forget writes, and a lock file that another folder has, too.
func (s *leases) faults() ([]string, error) {
	faults, err := disk.Faults(s.dir, "the folder")
	paths, errPaths := disk.PathFaults(filepath.Join(s.dir, lockName), "the file "+lockName)
	return append(faults, paths...), errors.Join(err, errPaths)
}

func (s *leases) LoadMeta(ctx context.Context) (leasestore.Meta, error) {
	state, err := s.state(ctx)
	return state.Meta, err
}

func (s *leases) Load(ctx context.Context, workerID int64) (leasestore.Row, error) {
	state, err := s.state(ctx)
	return state.Rows[workerID], err
}

func (s *leases) List(ctx context.Context) ([]leasestore.Row, error) {
	state, err := s.state(ctx)
	return slices.Collect(maps.Values(state.Rows)), err
}

func (s *leases) Expired(ctx context.Context, n int) ([]leasestore.Row, error) {
	rows, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	rows = slices.DeleteFunc(rows, func(r leasestore.Row) bool { return r.Expires.After(now) })
	slices.SortFunc(rows, func(a, b leasestore.Row) int { return a.Expires.Compare(b.Expires) })
	return rows[:min(n, len(rows))], nil
}

func (s *leases) SwapMeta(ctx context.Context, old, next leasestore.Meta) (bool, error) {
	return s.swap(ctx, next.CheckTexts(), func(state *fileState) bool {
		same := state.Meta.Same(old)
		state.Meta = next
		return same
	})
}

func (s *leases) Swap(ctx context.Context, old, next leasestore.Row, ttl time.Duration) (bool, error) {
	return s.swap(ctx, next.CheckTexts(), func(state *fileState) bool {
		same := state.Rows[next.WorkerID].Same(old)
		next.Expires = time.Now().Add(ttl).UTC()
		state.Rows[next.WorkerID] = next
		return same
	})
}

// CreateFree creates no rows: processes that start at once take turns at the lock anyway.
func (s *leases) CreateFree(ctx context.Context, _ []leasestore.Row, _ time.Duration) (bool, error) {
	return false, ctx.Err()
}

// Namespaces returns the folder's only namespace.
func (s *leases) Namespaces(ctx context.Context) (map[string]leasestore.Meta, error) {
	state, err := s.state(ctx)
	if err != nil || state.Meta.Version == 0 {
		return nil, err
	}
	return map[string]leasestore.Meta{"": state.Meta}, nil
}

// swap writes the state that change leaves if change returns true. wrong is the error of the texts.
func (s *leases) swap(ctx context.Context, wrong error, change func(*fileState) bool) (ok bool, err error) {
	if wrong != nil {
		return false, s.errorf("%w", wrong)
	}
	err = s.locked(ctx, func(f *folder) error {
		if ok = change(f.state); ok {
			return f.write()
		}
		return nil
	})
	return ok && err == nil, err
}

// state reads the state, and returns an empty one beside an error.
func (s *leases) state(ctx context.Context) (state fileState, err error) {
	err = s.locked(ctx, func(f *folder) error {
		state = *f.state
		return nil
	})
	return state, err
}

// locked calls f while it holds the lock of the folder.
func (s *leases) locked(ctx context.Context, f func(*folder) error) error {
	err := s.inFolder(ctx, f)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return s.errorf("%w", err)
	case s.first.Load() != nil:
		return s.errorf("%w: %w", replaced("it is gone"), err)
	}
	return s.errorf("%w; create the folder; this package does not, because a missing folder may be a disk that is not mounted", err)
}

func (s *leases) inFolder(ctx context.Context, f func(*folder) error) error {
	folder, err := openFolder(ctx, s.dir)
	if err != nil {
		return err
	}
	defer folder.close()
	if err := folder.read(s.first.Load() != nil); err != nil {
		return err
	}
	where, err := disk.Identity(filepath.Join(s.dir, lockName))
	if err != nil {
		return err
	}
	folder.identity = folder.state.ID + " " + where
	if !s.first.CompareAndSwap(nil, &folder.identity) && *s.first.Load() != folder.identity {
		return replaced(fmt.Sprintf("it is %q and was %q", folder.identity, *s.first.Load()))
	}
	return f(folder)
}

// replaced returns the error for a folder that is not the first one.
func replaced(found string) error {
	return fmt.Errorf("%w: the folder was moved, replaced or deleted while it was in use, %s; put it back, or end the process "+
		"and start it again where this is the right store: two stores, and two copies of one, hand out the same worker IDs",
		leasestore.ErrDamaged, found)
}

func (s *leases) errorf(format string, args ...any) error {
	return fmt.Errorf("fileassigner: folder %q: "+format, append([]any{s.dir}, args...)...)
}
