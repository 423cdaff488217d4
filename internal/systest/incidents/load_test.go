package incidents_test

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/idset"
)

// perSecond is how many IDs the load of the outage takes. ID time then goes twelve times as fast as
// the clock.
const perSecond = 100_000

// A load calls Next at a constant rate and counts every ID.
type load struct {
	t      *testing.T
	g      *cached.Generator
	window time.Duration // for which the store may be away
	rate   atomic.Int64  // calls a second

	issued, failed atomic.Int64
	short          chan struct{} // closed by the first call that fails
	before         int64         // IDs issued by then, readable after short

	// Owned by run until it has returned.
	ids   idset.Set
	again int   // IDs that had come before
	wrong error // the first that is not ErrLeaseExhausted
}

// newLoad makes a generator on a database, which is closed with the test. A window of 0 is the
// default.
func newLoad(t *testing.T, db *sqlx.DB, window time.Duration) *load {
	t.Helper()
	store := sqlassigner.LeaseStore(db, "orders", sqlassigner.Config{})
	g, err := cached.NewContext(t.Context(), cached.Config{Assigner: assigner.Leased(store, assigner.LeaseConfig{Window: window})})
	if err != nil {
		t.Fatal(err)
	}
	l := &load{t: t, g: g, window: cmp.Or(window, 30*time.Second), short: make(chan struct{})}
	l.rate.Store(perSecond)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return l
}

// run calls Next in a batch per tick until ctx ends. It skips calls that the machine cannot make
// within a tenth of a second.
func (l *load) run(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		elapsed := min(now.Sub(last), time.Second/10)
		last = now
		for range int64(elapsed) * l.rate.Load() / int64(time.Second) {
			l.call()
		}
	}
}

func (l *load) call() {
	id, err := l.g.Next()
	if err == nil {
		l.again += len(l.ids.Add(id))
		l.issued.Add(1)
		return
	}
	if l.wrong == nil && !errors.Is(err, cached.ErrLeaseExhausted) {
		l.wrong = err
	}
	if l.failed.Add(1) == 1 {
		l.before = l.issued.Load()
		close(l.short)
	}
}

// An answer is a result of NextContext.
type answer struct {
	id  int64
	err error
}

// wait calls NextContext.
func (l *load) wait() <-chan answer {
	ch := make(chan answer, 1)
	go func() {
		id, err := l.g.NextContext(l.t.Context())
		ch <- answer{id, err}
	}()
	return ch
}

// lasts is how long the window that is left lasts at the rate of the outage. The default layout has
// 8,192 IDs a second.
func (l *load) lasts() time.Duration {
	return time.Duration(float64(l.g.Stats().Window) * 8_192 / perSecond)
}

// ready reports whether the window has come up to the rate of the outage. Since it grows twofold at
// most with each renewal, a window of two minutes takes more than a minute for that; a rush of five
// times the load shortens it.
func (l *load) ready() bool {
	if l.lasts() >= l.window {
		l.rate.Store(perSecond)
		return true
	}
	if l.g.Stats().Renewals > 0 {
		l.rate.Store(5 * perSecond)
	}
	return false
}
