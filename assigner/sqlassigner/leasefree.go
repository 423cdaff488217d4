package sqlassigner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
)

// CreateFree implements [leasestore.Creator]. It creates the missing rows in one statement and one
// commit, and leaves the others unchanged.
func (l *leases) CreateFree(ctx context.Context, rows []leasestore.Row, ttl time.Duration) error {
	var errs []error
	var args []any
	for _, r := range rows {
		errs = append(errs, checkRow(r))
		args = append(args, l.namespace, r.WorkerID, r.Version, r.Fence, r.Token, r.Owner, r.Holder, r.Identity, ttl.Microseconds())
	}
	if err := errors.Join(errs...); err != nil || len(rows) == 0 {
		return err
	}
	statement := createRow + strings.Repeat(", "+rowValues, len(rows)-1)
	if !l.store.dialect.conflict { // unlike INSERT IGNORE, this hides no other errors
		statement += " ON DUPLICATE KEY UPDATE VERSION = VERSION"
	}
	what := fmt.Sprintf("create %d rows of namespace %q in WORKER_LEASE", len(rows), l.namespace)
	_, err := l.store.create(ctx, what, rowTable, nil, statement, args...)
	return err
}
