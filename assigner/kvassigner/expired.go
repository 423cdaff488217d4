package kvassigner

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/uidring/uidring/assigner/leasestore"
)

// mostFolders is the largest number of folders that a call of Expired lists.
const mostFolders = 32

// Expired starts at a random folder, so that processes that start at once find different rows, and
// wraps around. The next call goes on where it stopped. It leaves out rows that the meta row does
// not count.
func (l *leases) Expired(ctx context.Context, n int) ([]leasestore.Row, error) {
	meta, err := l.LoadMeta(ctx)
	if err != nil || n <= 0 || meta.NextWorkerID <= meta.FirstWorkerID {
		return nil, err
	}
	first, last := meta.FirstWorkerID/BlockSize, (meta.NextWorkerID-1)/BlockSize
	all := uint64(last - first + 1)
	start := l.block.Load()
	var found []leasestore.Row
	for i := uint64(0); i < min(all, mostFolders) && len(found) < n; i++ {
		rows, err := list[leasestore.Row](ctx, l, l.folder(first+int64((start+i)%all)))
		if err != nil {
			return nil, err
		}
		now, _, err := l.now(ctx)
		if err != nil {
			return nil, err
		}
		l.block.Add(1)
		found = append(found, slices.DeleteFunc(rows, func(r leasestore.Row) bool { return r.Expires.After(now) })...)
	}
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found[:min(n, len(found))], nil
}
