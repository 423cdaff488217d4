package leasestore

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/storecall"
)

// revokedPrefix starts the token of a row that was revoked and is not offered yet.
const revokedPrefix = "revoked-"

// Revoked reports whether [Revoke] has taken the row from its holder, and no process has claimed it
// since.
func (r Row) Revoked() bool { return strings.HasPrefix(r.Token, revokedPrefix) }

// A Revocation configures [Revoke].
type Revocation struct {
	WorkerID int64 // to take from its holder
}

// Revoke takes a worker ID from its holder, and returns the row as changed. The holder notices at
// its next renewal, within a window, and takes another worker ID; until then it may issue IDs up to
// its fence. The fence stays, so no ID is issued twice: the next holder starts above it. Revoke
// leaves a free row unchanged.
//
// The row is offered when the lease would have expired, and not earlier: a holder that renews on a
// replaced server relies on having been the only holder until then, and the new server may have
// lost the revocation and a claim after it. assigner.Fenced with the row's owner takes it at once,
// as always.
//
// Revoke returns [ErrRowMissing] when the row does not exist, and other errors when another holder
// takes it meanwhile, and when the store did not confirm the change. It may be called again.
func Revoke(ctx context.Context, store Store, r Revocation) (row Row, err error) {
	defer named("Revoke", &err)
	if store == nil {
		return Row{}, errNoStore
	}
	status, err := store.Status(ctx)
	if err != nil {
		return Row{}, fmt.Errorf("read the status of the store: %w", err)
	}
	row, err = store.Load(ctx, r.WorkerID)
	for err == nil && !row.Free() && !row.Revoked() {
		next := row
		next.Version++ // or the holder might take it for its own renewal
		next.Token = revokedPrefix + rand.Text()
		ttl := max(row.Expires.Sub(status.Now), 0) //mutate:number a nanosecond more
		next.Expires = status.Now.Add(ttl)
		found, errSwap := swapRow(ctx, store, row, next, ttl)
		if found.Version != 0 && found.Version != row.Version && !found.Same(next) {
			return Row{}, fmt.Errorf("row %d has a new holder, %q; check the row and call Revoke again if needed", r.WorkerID, found.Owner)
		}
		row, err = found, errSwap // unless it is next, renewed or released meanwhile
	}
	switch {
	case err != nil:
		return Row{}, fmt.Errorf("row %d: %w", r.WorkerID, err)
	case row.Version == 0:
		return Row{}, fmt.Errorf("%w: there is no row %d: this worker ID was never given out in this namespace, or its row was deleted; "+
			"never delete rows: fences are lost with them", ErrRowMissing, r.WorkerID)
	}
	return row, nil
}

// swapRow makes a swap and returns the row that the store then has, see [storecall.Swapped].
func swapRow(ctx context.Context, store Store, old, next Row, ttl time.Duration) (Row, error) {
	ok, err := store.Swap(ctx, old, next, ttl)
	return storecall.Swapped(ok, err, old, next, func() (Row, error) { return store.Load(ctx, next.WorkerID) })
}
