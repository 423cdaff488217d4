package zkassigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
)

// A Config says where a store is in ZooKeeper, and who may use it.
type Config struct {
	// Root is the path of the znode below which all others are, in place of a chroot, which the
	// client does not have. It begins with a slash and does not end with one. Empty: /uidring.
	Root string
	// ACL is given to each znode that the store creates. Empty: every client has all permissions.
	// With zk.AuthACL(zk.PermAll) only clients of the same user have them.
	ACL []zk.ACL
}

// LeaseStore returns the store of a namespace, see [kvassigner.LeaseStore]. The znodes are
//
//   - /uidring/meta/orders, the meta row; the name is in lower case here;
//   - /uidring/worker/orders/0000000000000004/007, the row of worker 4,007;
//   - /uidring/clock, which is written to read the clock of the servers.
//
// They are persistent and never deleted, and the store creates missing ones. A folder has at most
// 1,000 rows, so that no answer is larger than the servers allow.
//
// The store returns an error when a write may have taken effect. The caller closes the connection.
// A call ends with its context; without a deadline it waits for a server as long as the client
// does.
func LeaseStore(conn *zk.Conn, namespace string, cfg Config) leasestore.Store {
	if cfg.Root == "" {
		cfg.Root = "/uidring"
	}
	if len(cfg.ACL) == 0 {
		cfg.ACL = zk.WorldACL(zk.PermAll)
	}
	return kvassigner.LeaseStore(&ensemble{conn, cfg.Root, slices.Clone(cfg.ACL)}, namespace, kvassigner.Config{})
}

func (e *ensemble) Check(string) error {
	var errs []error
	if e.conn == nil {
		errs = append(errs, errors.New("zkassigner: conn is required"))
	}
	if !strings.HasPrefix(e.root, "/") || e.root == "/" || path.Clean(e.root) != e.root {
		errs = append(errs, fmt.Errorf("zkassigner: Root %q, allowed: a path such as /services/uidring", e.root))
	}
	return errors.Join(errs...)
}

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

// Passes reports errors while the client has no server, or no session.
func (e *ensemble) Passes(err error) bool {
	return slices.ContainsFunc([]error{zk.ErrNoServer, zk.ErrConnectionClosed, zk.ErrSessionExpired, zk.ErrSessionMoved, errNewSession}, func(e error) bool { return errors.Is(err, e) })
}

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
func (e *ensemble) confirmed(ctx context.Context, read func() error) error {
	var session int64
	for confirmed := false; !confirmed; confirmed = e.conn.SessionID() == session {
		session = e.conn.SessionID()
		if _, err := e.confirm(ctx); err != nil {
			return err
		}
	}
	err := read()
	if err == nil && e.conn.SessionID() != session {
		err = errNewSession
	}
	return err
}

func (e *ensemble) Get(ctx context.Context, key string) (value []byte, revision string, err error) {
	err = e.confirmed(ctx, func() error {
		value, revision, err = e.get(ctx, key)
		return err
	})
	return value, revision, err
}

// get reads a znode without a confirmation.
func (e *ensemble) get(ctx context.Context, key string) (value []byte, revision string, err error) {
	type znode struct {
		value []byte
		stat  *zk.Stat
	}
	node, err := do(ctx, func() (n znode, err error) {
		n.value, n.stat, err = e.conn.Get(e.path(key))
		return n, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	return node.value, strconv.Itoa(int(node.stat.Version)), nil
}

// Put implements [kvassigner.KV]. The revision is the version of the znode.
func (e *ensemble) Put(ctx context.Context, key string, value []byte, revision string) (bool, error) {
	if revision == "" {
		// The parents come first. So the value is sent once, and a create whose answer is lost has
		// taken effect, or met another one.
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

func (e *ensemble) List(ctx context.Context, prefix string) (entries []kvassigner.Entry, err error) {
	err = e.confirmed(ctx, func() error {
		entries, err = e.list(ctx, prefix)
		return err
	})
	return entries, err
}

// list reads the znodes below a prefix. A prefix with two slashes has folders, which have the rows.
func (e *ensemble) list(ctx context.Context, prefix string) (entries []kvassigner.Entry, err error) {
	keys, err := e.children(ctx, prefix)
	if err != nil {
		return nil, err
	}
	if strings.Count(prefix, "/") != 2 {
		return kvassigner.GetAll(ctx, keys, e.get)
	}
	for _, folder := range keys {
		rows, err := e.list(ctx, folder+"/")
		if err != nil {
			return nil, err
		}
		entries = append(entries, rows...)
	}
	return entries, nil
}

// children returns the keys of the znodes in a folder.
func (e *ensemble) children(ctx context.Context, folder string) ([]string, error) {
	keys, err := do(ctx, func() ([]string, error) {
		names, _, err := e.conn.Children(e.path(folder))
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	for i, name := range keys {
		keys[i] = folder + name
	}
	return keys, err
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
