package kvassigner

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/uidring/uidring/assigner"
)

// mostFolders is the largest number of folders that a call of Expired lists.
const mostFolders = 32

// Expired starts at a random folder, so that processes that start at once find different rows, and
// wraps around. The next call goes on where it stopped.
func (l *leases) Expired(ctx context.Context, n int) ([]assigner.Row, error) {
	meta, err := l.LoadMeta(ctx)
	if err != nil || n <= 0 {
		return nil, err
	}
	folders := []string{l.workers()}
	if meta.NextWorkerID > meta.FirstWorkerID {
		folders = l.blocks(meta.FirstWorkerID/BlockSize, (meta.NextWorkerID-1)/BlockSize)
	}
	var found []assigner.Row
	for i, folder := range folders {
		rows, err := list[assigner.Row](ctx, l, folder)
		if err != nil {
			return nil, err
		}
		now, _, err := l.now(ctx)
		if err != nil {
			return nil, err
		}
		found = append(found, slices.DeleteFunc(rows, func(r assigner.Row) bool { return r.Expires.After(now) })...)
		if len(found) >= n || i == len(folders)-1 {
			l.block.Add(uint64(i) + 1)
			break
		}
	}
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found[:min(n, len(found))], nil
}

// blocks returns the folders of the blocks first to last that a call of Expired may list.
func (l *leases) blocks(first, last int64) []string {
	all := last - first + 1
	start := l.block.Load()
	folders := make([]string, min(all, mostFolders))
	for i := range folders {
		folders[i] = l.folder(first + int64((start+uint64(i))%uint64(all)))
	}
	return folders
}
