package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
)

// StoreCalls knows whether the store of worker IDs answers a generator. The zero value is ready to
// use. Any number of goroutines may use it.
type StoreCalls struct {
	mu  sync.Mutex
	now outage
}

// An outage lasts from the first failed call to the next answer: a renewal, a worker ID, or the
// reason for which the store has none now. The zero outage is none.
type outage struct {
	since time.Time
	err   error // of the last call
}

// Trace returns the Trace of the generator.
func (c *StoreCalls) Trace() cached.Trace {
	return cached.Trace{
		RenewFailed:   c.set,
		LeaseKept:     c.set,
		LeaseAssigned: c.set,
	}
}

func (c *StoreCalls) set(i assigner.LeaseInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case i.Err == nil, errors.Is(i.Err, assigner.ErrQuarantined), errors.Is(i.Err, assigner.ErrWorkersExhausted), errors.Is(i.Err, assigner.ErrWorkerAheadOfClock):
		c.now = outage{}
	case c.now.err == nil:
		c.now = outage{time.Now(), i.Err}
	default:
		c.now.err = i.Err
	}
}

func (c *StoreCalls) outage() outage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// texts are the title and the detail of a verdict.
func (o outage) texts(store string) (title, detail string) {
	since := o.since.UTC().Format(time.TimeOnly) + " UTC: " + cause(o.err) + "."
	if silence(o.err) != "" {
		return "Store unreachable", fmt.Sprintf("Store %s has not answered since %s Bring it back. Do not restart servers: a start needs the store.", store, since)
	}
	return "Store fails", fmt.Sprintf("Store %s has refused calls since %s Correct that; the server then goes on by itself.", store, since)
}

// cause is the short text of an error of a store.
func cause(err error) string {
	const most = 400 // bytes
	text := err.Error()
	return cmp.Or(silence(err), text[:min(most, len(text))])
}

// silence says why a store gave no answer, or is "" if it gave one.
func silence(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	return ""
}
