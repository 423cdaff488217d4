package assigner

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/storecall"
)

// loadMeta reads the meta row of the namespace, and creates it if it is missing. If that happens in
// a wrong store, its worker IDs are in use elsewhere, so loadMeta logs a warning that names the
// store.
func (c *claim) loadMeta() (err error) {
	if c.meta, err = c.leaser.store.LoadMeta(c.ctx); err != nil {
		return fmt.Errorf("assigner: read the meta row: %w", err)
	}
	if c.meta.Version != 0 {
		return c.checkMeta()
	}
	created, err := c.swapMeta(leasestore.Meta{Namespace: rand.Text(), Layout: c.terms.domain.Layout, Epoch: c.terms.domain.Epoch,
		DatacenterID: c.terms.domain.DatacenterID, FirstWorkerID: c.terms.cfg.FirstWorkerID, NextWorkerID: c.terms.cfg.FirstWorkerID, Identity: c.view.status.Identity})
	if created {
		c.warn("assigner: the namespace is new in this store", "store", c.view.status.Store, "namespace", c.view.status.Namespace, "first_worker", c.terms.cfg.FirstWorkerID,
			"remedy", "if the service is new, wait until the servers that may become primary have the namespace; otherwise "+
				"stop it and find its former store")
		c.warnOfOthers()
	}
	return err
}

// checkMeta returns an error when this process must not take a worker ID of the namespace.
func (c *claim) checkMeta() error {
	if err := mismatch(c.meta, c.terms.domain, c.terms.cfg.FirstWorkerID); err != nil {
		return err
	}
	if c.meta.Recovering() {
		return generator.Passing{Err: errors.New("assigner: a recovery of the namespace is not finished; wait for it, or call Recover again if it " +
			"was interrupted"), After: time.Second}
	}
	return nil
}

// swapMeta replaces the meta row that was read by next, with a new version and token. It returns
// false when another process was faster. c.meta is then the row of that process.
func (c *claim) swapMeta(next leasestore.Meta) (bool, error) {
	next.Version++
	next.Token = rand.Text()
	ok, err := c.leaser.store.SwapMeta(c.ctx, c.meta, next)
	found, err := storecall.Swapped(ok, err, c.meta, next, func() (leasestore.Meta, error) { return c.leaser.store.LoadMeta(c.ctx) })
	if err != nil {
		return false, fmt.Errorf("assigner: write the meta row: %w", err)
	}
	c.meta = found
	return found.Same(next), c.checkMeta()
}

// warnOfOthers logs a warning when the namespace has been created beside others with the same
// layout, epoch and datacenter ID: they produce equal IDs. A store of a single namespace returns no
// other.
func (c *claim) warnOfOthers() {
	own := c.view.status.Namespace
	others, err := c.leaser.store.Namespaces(c.ctx)
	if err != nil { // a user may have no right to read other namespaces
		c.warn("assigner: the other namespaces of the store cannot be read", "namespace", own, "error", err)
		return
	}
	maps.DeleteFunc(others, func(name string, m leasestore.Meta) bool {
		return name == own || mismatch(m, c.terms.domain, m.FirstWorkerID) != nil
	})
	if len(others) > 0 {
		c.warn("assigner: other namespaces give out the same worker IDs", "namespace", own,
			"others", slices.Sorted(maps.Keys(others)), "remedy", "if their IDs can meet in a table or a message, use one namespace, or give "+
				"each a DatacenterID")
	}
}

// mismatch returns an error if a namespace and a domain differ, or nil.
func mismatch(m leasestore.Meta, d Domain, firstWorkerID int64) error {
	pin := func(l bitsalloc.Layout, epoch time.Time, datacenterID, firstWorkerID int64) string {
		return fmt.Sprintf("Layout %v, Epoch %s, DatacenterID %d, FirstWorkerID %d", l, epoch.UTC().Format(time.RFC3339Nano), datacenterID, firstWorkerID)
	}
	stored, mine := pin(m.Layout, m.Epoch, m.DatacenterID, m.FirstWorkerID), pin(d.Layout, d.Epoch, d.DatacenterID, firstWorkerID)
	if stored == mine {
		return nil
	}
	return fmt.Errorf("%w: the store has %s, and here it is %s; services that share worker IDs use one Layout, Epoch, DatacenterID and "+
		"FirstWorkerID: correct them here, or keep the IDs of another namespace in other tables", ErrLayoutMismatch, stored, mine)
}
