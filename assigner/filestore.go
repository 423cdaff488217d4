package assigner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/uidring/uidring/internal/disk"
)

// ErrStoreDamaged: the files of a store are torn, gone or another store's, or were moved, replaced
// or deleted while it was in use. Nothing is taken from the store, since the deltas that have been
// used are not known.
var ErrStoreDamaged = errors.New("assigner: store damaged")

// FileStore returns a store in a folder, for the processes of one host, or for a pod of a
// StatefulSet with a volume of its own. Two folders do not know each other: each hands out the same
// worker IDs, and so does a copy of a folder. The folder exists and is private to the store; an
// empty one is a new namespace. It must be on a disk that is local and keeps what fsync has
// acknowledged: then leases are [GuaranteeFenced], through SIGKILL and loss of power.
//
// The folder is all that the store knows. Processes that are to have different worker IDs share one
// folder, and use [Leased] or [Auto]. Where each has a folder to itself, use [Fenced], with a
// number that no other has, such as the ordinal of the pod.
//
// Any number of processes of a host may share a folder: a lock file is held, with flock, during
// each operation. An operation waits for it until its context ends. The state is one file in JSON,
// with a checksum; each change writes it anew beside the old one and renames it. Where that fails,
// as on a full disk, the old state stays. A state that is torn, another store's or gone is never
// made anew: all operations return [ErrStoreDamaged]. They return it, too, when the folder is no
// longer the folder that the Store has used first: it was moved, replaced or deleted under a
// running process.
//
// On Linux, file systems that are not local (NFS, SMB, 9P, AFS, Ceph, Lustre, GPFS, OCFS2, GFS2,
// and FUSE, which is also GlusterFS and sshfs) or do not outlast a reboot (tmpfs, ramfs) are faults
// of the store, and refused by leases as [ErrStoreNotDurable]. Other systems skip this check. The
// writable layer of a container, which ends with it, is not recognised: mount a volume. Deleting
// the folder, or going back to a copy of it, loses fences.
//
// The identity of the store tells a copy from the original by the device, the inode and, on Linux,
// the time of birth of the lock file, so that worker IDs of a copy are quarantined. It does not
// tell a clone of the whole disk, nor a backup that is written into the files of the original. It
// changes, and costs one quarantine, when a disk gets another device number; a reboot alone does
// not change it.
//
// The store has no clock: [Status].Now is the clock of this host, and Seen the host's time of the last
// write to the folder.
//
// On systems without flock, such as Windows, all operations return [errors.ErrUnsupported].
func FileStore(dir string) Store { return fileStore{dir, new(sameFolder)} }

// fileStore is the path of a folder. Nothing is open between two operations.
type fileStore struct {
	dir  string
	same *sameFolder
}

func (s fileStore) Status(ctx context.Context) (st Status, err error) {
	err = s.locked(ctx, func(f *folder) error {
		st.Seen = f.state.Seen
		st.Identity, err = f.identity()
		if err != nil {
			return err
		}
		st.Faults, err = disk.Faults(s.dir, "the folder")
		return err
	})
	if err != nil {
		return Status{}, err
	}
	st.Now = time.Now()
	return st, nil
}

func (s fileStore) LoadMeta(ctx context.Context) (m Meta, err error) {
	err = s.locked(ctx, func(f *folder) error {
		m = f.state.Meta
		return nil
	})
	return m, err
}

func (s fileStore) SwapMeta(ctx context.Context, old, next Meta) (ok bool, err error) {
	err = s.locked(ctx, func(f *folder) error {
		if !f.state.Meta.same(old) {
			return nil
		}
		f.state.Meta = next
		ok = true
		return f.write()
	})
	return ok && err == nil, err
}

func (s fileStore) Load(ctx context.Context, workerID int64) (r Row, err error) {
	err = s.locked(ctx, func(f *folder) error {
		r = f.state.Rows[workerID]
		return nil
	})
	return r, err
}

func (s fileStore) List(ctx context.Context) (rows []Row, err error) {
	err = s.locked(ctx, func(f *folder) error {
		rows = slices.Collect(maps.Values(f.state.Rows))
		return nil
	})
	return rows, err
}

func (s fileStore) Expired(ctx context.Context, n int) ([]Row, error) {
	rows, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	rows = slices.DeleteFunc(rows, func(r Row) bool { return r.Expires.After(now) })
	slices.SortFunc(rows, func(a, b Row) int { return a.Expires.Compare(b.Expires) })
	return rows[:min(n, len(rows))], nil
}

func (s fileStore) Swap(ctx context.Context, old, next Row, ttl time.Duration) (ok bool, err error) {
	if !utf8.ValidString(next.Token) || !utf8.ValidString(next.Owner+next.Holder) || !utf8.ValidString(next.Identity) {
		return false, s.errorf("row %d: Token %q, Owner %q, Holder %q, Identity %q, allowed: UTF-8", next.WorkerID, next.Token, next.Owner, next.Holder, next.Identity)
	}
	err = s.locked(ctx, func(f *folder) error {
		if !f.state.Rows[next.WorkerID].same(old) {
			return nil
		}
		next.Expires = time.Now().Add(ttl).UTC()
		f.state.Rows[next.WorkerID] = next
		ok = true
		return f.write()
	})
	return ok && err == nil, err
}

// locked calls f on the folder while no other process works on it.
func (s fileStore) locked(ctx context.Context, f func(*folder) error) error {
	folder, err := openFolder(ctx, s.dir)
	if err != nil {
		return s.errorf("%w", s.same.explain(err))
	}
	defer folder.close()
	if err := folder.read(s.same.known()); err != nil {
		return s.errorf("%w", err)
	}
	if err := s.same.check(folder); err != nil {
		return s.errorf("%w", err)
	}
	if err := f(folder); err != nil {
		return s.errorf("%w", err)
	}
	return nil
}

func (s fileStore) errorf(format string, args ...any) error {
	return fmt.Errorf("assigner: FileStore %q: "+format, append([]any{s.dir}, args...)...)
}
