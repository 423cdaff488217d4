package assigner

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
)

// Processes that start at the same time in a new namespace all want the same worker ID, since there
// are no rows to choose from. They wait for random times, and a process that has lost rows to
// others creates free rows for them. This is about speed alone: without these rows, 200 processes
// that start at once beside eight busy ones on MySQL make five times the statements, and some miss
// StartTimeout.

// spares is the number of rows that a claim creates for others after it has lost one. Processes
// that start at once use them up, and otherwise later starts do.
const spares = 128

// patience is how often a claim loses new worker IDs while no other process moves the counter,
// before it counts them for their creator, which may have ended.
const patience = 4

// lose records that another process has created the row of a new worker ID, and returns errRaced.
// The creator counts it, unless it has ended or is a Fenced assigner. Then lose counts it, with the
// free rows behind it, which the creator may have left.
func (c *claim) lose(number int64) error {
	if c.stuck++; c.stuck < patience {
		return errRaced
	}
	next := number + 1
	for slices.ContainsFunc(c.listed, func(r leasestore.Row) bool { return r.WorkerID == next }) {
		next++
	}
	return cmp.Or(c.count(next), errRaced)
}

// createSpares creates free rows in one operation, from the worker ID first up, if the claim has
// lost rows to others and the store can. It returns how many exist.
func (c *claim) createSpares(first int64) int64 {
	if c.raced == 0 || first > c.terms.domain.MaxWorkerID() { //mutate:operator the number of spares is tuning
		return 0
	}
	//mutate:argument the number of spares is tuning
	rows := make([]leasestore.Row, min(spares, c.terms.domain.MaxWorkerID()-first+1))
	for i := range rows {
		rows[i] = leasestore.Row{WorkerID: first + int64(i), Version: 1, Fence: c.found(leasestore.Row{}), Identity: term(c.meta)}
	}
	if ok, err := c.leaser.store.CreateFree(c.ctx, rows, -c.terms.cfg.MaxSkew); !ok || err != nil {
		return 0 // some may exist, and are not counted
	}
	return int64(len(rows))
}

// wait holds no connection of the store.
func (a *leaser) wait(ctx context.Context, try int) {
	storecall.Pause(ctx)
	a.pause(ctx, try)
}

// backOff waits for a random time with exponential backoff, so that processes that start at once
// stop colliding.
func backOff(ctx context.Context, try int) {
	//mutate:number,operator tuning of processes that start at once
	const shortest, longest = 50 * time.Millisecond, 1500 * time.Millisecond
	select {
	//mutate:argument,number,operator tuning of processes that start at once
	case <-time.After(rand.N(min(shortest<<min(try, 10), longest))):
	case <-ctx.Done():
	}
}
