package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
)

// StoreCalls knows whether the store of worker IDs answers a generator. The zero value is ready to
// use. Any number of goroutines may use it.
type StoreCalls struct{ failed atomic.Pointer[error] } // of the last call, see failure

// Trace returns the Trace of the generator.
func (c *StoreCalls) Trace() cached.Trace {
	return cached.Trace{RenewFailed: c.set, LeaseKept: c.set, LeaseAssigned: c.set}
}

func (c *StoreCalls) set(i assigner.LeaseInfo) { c.failed.Store(&i.Err) }

// failure returns the error of the last call, or nil after an answer: a renewal, a worker ID, or
// the reason for which the store has none now.
func (c *StoreCalls) failure() error {
	err := *cmp.Or(c.failed.Load(), new(error))
	if errors.Is(err, assigner.ErrQuarantined) || errors.Is(err, assigner.ErrWorkersExhausted) || errors.Is(err, assigner.ErrWorkerAheadOfClock) {
		return nil
	}
	return err
}

// An outage lasts while err is not nil.
type outage struct {
	since time.Time // of the last renewal or claim, as last_answer in the log
	err   error     // of the last call
}

// texts are the title and the detail of a verdict.
func (o outage) texts(store string) (title, detail string) {
	since := o.since.UTC().Format(time.TimeOnly) + " UTC: " + cause(o.err) + "."
	if silence(o.err) != "" {
		return "Store unreachable", fmt.Sprintf("Store %s has not answered since %s Bring it back. Do not restart servers: a start needs the store.", store, since)
	}
	return "Store fails", fmt.Sprintf("Store %s has refused every call since %s Correct that; the server then goes on by itself.", store, since)
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
