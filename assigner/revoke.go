package assigner

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
)

// revokedPrefix begins the token of a row that nobody holds and nobody gets yet.
const revokedPrefix = "revoked-"

// Revoked reports whether [Revoke] has taken the row from its holder, and nobody has claimed it
// since.
func (r Row) Revoked() bool { return strings.HasPrefix(r.Token, revokedPrefix) }

// Revoke takes a worker ID from its holder, and returns its row as it is then. The holder learns it
// at its next renewal, within a window, and takes another worker ID; until then it may use what its
// fence covers. The fence stays: whoever is next begins above it, so that no ID is issued twice,
// whether the holder lives or not. A row that is free already stays as it is.
//
// The row is not offered before the lease would have expired. That nobody else can have had it till
// then is what allows a holder to go on when the store moves to another server, which may have lost
// both the revocation and a claim after it. [Fenced] with the owner that the row names takes it at
// once, as always.
//
// An error is returned when there is no such row, when another holder takes it meanwhile, and when
// it is not known whether the row was changed; Revoke may then be called again.
func Revoke(ctx context.Context, store Store, workerID int64) (Row, error) {
	status, err := store.Status(ctx)
	if err != nil {
		return Row{}, fmt.Errorf("assigner: Revoke: look at the store: %w", err)
	}
	held, err := store.Load(ctx, workerID)
	if err != nil {
		return Row{}, fmt.Errorf("assigner: Revoke: read row %d: %w", workerID, err)
	}
	if held.Version == 0 {
		return Row{}, fmt.Errorf("assigner: Revoke: there is no row %d: nobody has had this worker ID in this namespace", workerID)
	}
	for !held.Free() && !held.Revoked() {
		next := held
		next.Version++ // the holder cannot take it for a row that it has renewed itself
		next.Token = revokedPrefix + rand.Text()
		ttl := max(held.Expires.Sub(status.Now), 0)
		next.Expires = status.Now.Add(ttl)
		ok, errSwap := store.Swap(ctx, held, next, ttl)
		if ok && errSwap == nil {
			return next, nil
		}
		found, err := store.Load(ctx, workerID)
		switch {
		case err != nil:
			return Row{}, fmt.Errorf("assigner: Revoke: row %d: %w", workerID, errors.Join(errSwap, err))
		case found.Version == 0:
			return Row{}, fmt.Errorf("%w: Revoke: row %d: never delete rows: fences are lost with them", ErrWorkerRowMissing, workerID)
		case found.Same(next): // the answer was lost
			return found, nil
		case found.Same(held):
			return Row{}, fmt.Errorf("assigner: Revoke: row %d: %w", workerID, cmp.Or(errSwap, errors.New("the store does not change it")))
		case found.Version != held.Version:
			return Row{}, fmt.Errorf("assigner: Revoke: row %d has changed hands meanwhile, it is %q's; look at it again", workerID, found.Owner)
		}
		held = found // renewed or released meanwhile
	}
	return held, nil
}
