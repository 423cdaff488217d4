package zkassigner

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

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
