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
// wraps around. The next call goes on where it stopped.
func (l *leases) Expired(ctx context.Context, n int) ([]leasestore.Row, error) {
	meta, err := l.LoadMeta(ctx)
	if err != nil || n <= 0 {
		return nil, err
	}
	var found []leasestore.Row
	for _, folder := range l.blocks(meta) {
		rows, err := list[leasestore.Row](ctx, l, folder)
		everywhere := err == nil && len(rows) == 0 && folder != l.workers()
		if everywhere { // the rows are not where the meta row says
			rows, err = list[leasestore.Row](ctx, l, l.workers())
			found = nil
		}
		if err != nil {
			return nil, err
		}
		now, _, err := l.now(ctx)
		if err != nil {
			return nil, err
		}
		l.block.Add(1)
		found = append(found, slices.DeleteFunc(rows, func(r leasestore.Row) bool { return r.Expires.After(now) })...)
		if everywhere || len(found) >= n {
			break
		}
	}
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found[:min(n, len(found))], nil
}

// blocks returns the folders that a call of Expired lists: all rows before the first one is
// counted, which may be many with Fenced alone.
func (l *leases) blocks(meta leasestore.Meta) []string {
	if meta.NextWorkerID <= meta.FirstWorkerID {
		return []string{l.workers()}
	}
	first, last := meta.FirstWorkerID/BlockSize, (meta.NextWorkerID-1)/BlockSize
	all := last - first + 1
	start := l.block.Load()
	folders := make([]string, min(all, mostFolders))
	for i := range folders {
		folders[i] = l.folder(first + int64((start+uint64(i))%uint64(all)))
	}
	return folders
}
