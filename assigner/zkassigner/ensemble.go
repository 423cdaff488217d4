package zkassigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

// An ensemble is a tree of znodes as a [kvassigner.KV].
type ensemble struct {
	conn *zk.Conn
	root string
	acl  []zk.ACL
}

// String names the store in errors and log records, with the last server of the client.
func (e *ensemble) String() string {
	return "ZooKeeper at " + cmp.Or(e.conn.Server(), "no server yet") + ", znode " + e.root
}

var errNewSession = errors.New("the session ended between the confirmation of a read and the read")

func (e *ensemble) path(key string) string { return e.root + "/" + strings.TrimSuffix(key, "/") }

// Status implements [kvassigner.KV]. The leader sets the time of the write that confirms it.
// The identity is the birth of the znode clock.
func (e *ensemble) Status(ctx context.Context) (leasestore.Status, error) {
	stat, err := e.confirm(ctx)
	if err != nil {
		return leasestore.Status{}, err
	}
	return leasestore.Status{
		Now:      time.UnixMilli(stat.Mtime),
		Identity: fmt.Sprintf("%.40s/clock created in transaction %x at %s", e.root, stat.Czxid, time.UnixMilli(stat.Ctime).UTC().Format(time.RFC3339Nano)),
	}, nil
}

// confirm writes a znode. A majority has acknowledged the write, and the server of this session has
// applied it and all writes before it. A sync would not do: it asks the leader, which may have been
// cut off without noticing.
func (e *ensemble) confirm(ctx context.Context) (*zk.Stat, error) {
	for {
		stat, err := do(ctx, func() (*zk.Stat, error) { return e.conn.Set(e.path("clock"), nil, -1) })
		if !errors.Is(err, zk.ErrNoNode) {
			return stat, err
		}
		if _, err := e.create(ctx, e.path("clock"), nil); err != nil {
			return nil, err
		}
	}
}

// confirmed calls read on the session of a confirmation. A session sees its own writes on whichever
// server it is; the next session might be on a server that lags.
func confirmed[T any](ctx context.Context, e *ensemble, read func() (T, error)) (result T, err error) {
	if _, err := e.confirm(ctx); err != nil {
		return result, err
	}
	session := e.conn.SessionID()
	result, err = read()
	if err == nil && e.conn.SessionID() != session {
		err = errNewSession
	}
	return result, err
}

type znode struct {
	value []byte
	stat  *zk.Stat
}

func (e *ensemble) Get(ctx context.Context, key string) ([]byte, string, error) {
	node, err := confirmed(ctx, e, func() (znode, error) { return e.get(ctx, key) })
	if err != nil || node.stat == nil {
		return nil, "", err
	}
	return node.value, strconv.Itoa(int(node.stat.Version)), nil
}

// get returns the zero znode if there is none.
func (e *ensemble) get(ctx context.Context, key string) (znode, error) {
	node, err := do(ctx, func() (n znode, err error) {
		n.value, n.stat, err = e.conn.Get(e.path(key))
		return n, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return znode{}, nil
	}
	return node, err
}

// Put implements [kvassigner.KV]. The revision is the version of the znode.
func (e *ensemble) Put(ctx context.Context, key string, value []byte, revision string) (bool, error) {
	if revision == "" {
		if _, err := e.create(ctx, path.Dir(e.path(key)), nil); err != nil {
			return false, err
		}
		return e.create(ctx, e.path(key), value)
	}
	version, err := strconv.ParseInt(revision, 10, 32)
	if err != nil {
		return false, err
	}
	_, err = do(ctx, func() (*zk.Stat, error) { return e.conn.Set(e.path(key), value, int32(version)) })
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}

// create reports whether it created a znode; its parents are created if necessary. The znode is
// persistent: an ephemeral one would end with the session, and the fence with it, while its holder
// may still issue IDs.
func (e *ensemble) create(ctx context.Context, name string, value []byte) (bool, error) {
	for {
		_, err := do(ctx, func() (string, error) { return e.conn.Create(name, value, 0, e.acl) })
		switch {
		case errors.Is(err, zk.ErrNodeExists):
			return false, nil
		case !errors.Is(err, zk.ErrNoNode):
			return err == nil, err
		}
		if _, err := e.create(ctx, path.Dir(name), nil); err != nil {
			return false, err
		}
	}
}

func (e *ensemble) List(ctx context.Context, prefix string) ([]kvassigner.Entry, error) {
	return confirmed(ctx, e, func() ([]kvassigner.Entry, error) { return e.list(ctx, prefix) })
}

// list reads the children of a znode, and lists the children without a value, which are folders.
func (e *ensemble) list(ctx context.Context, prefix string) ([]kvassigner.Entry, error) {
	keys, err := do(ctx, func() ([]string, error) {
		names, _, err := e.conn.Children(e.path(prefix))
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for i, name := range keys {
		keys[i] = prefix + name
	}
	var mu sync.Mutex
	var folders []string
	found, err := kvassigner.GetAll(ctx, keys, func(ctx context.Context, key string) ([]byte, string, error) {
		node, err := e.get(ctx, key)
		if err != nil || node.stat == nil {
			return nil, "", err
		}
		if len(node.value) > 0 {
			return node.value, "found", nil
		}
		mu.Lock()
		defer mu.Unlock()
		folders = append(folders, key+"/")
		return nil, "", nil
	})
	for _, folder := range folders {
		if err != nil {
			break
		}
		var more []kvassigner.Entry
		more, err = e.list(ctx, folder)
		found = append(found, more...)
	}
	return found, err
}

// do calls f, which does not know contexts, and leaves it alone when the context ends.
func do[T any](ctx context.Context, f func() (T, error)) (none T, err error) {
	if err := ctx.Err(); err != nil {
		return none, err
	}
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := f()
		answers <- answer{value, err}
	}()
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
