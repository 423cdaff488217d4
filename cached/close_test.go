package cached_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
)

func TestClosedGeneratorReturnsErrClosed(t *testing.T) {
	eachPolicy(t, func(t *testing.T, policy cached.EmptyPolicy) {
		refused := 0
		g := inBubble(t, cached.Config{OnEmpty: policy, Trace: cached.Trace{TakeRejected: func(error) { refused++ }}})
		id, err := g.Next()
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Next(); !errors.Is(err, cached.ErrClosed) {
			t.Errorf("Next = %v, want ErrClosed", err)
		}
		if _, err := g.NextContext(t.Context()); !errors.Is(err, cached.ErrClosed) {
			t.Errorf("NextContext = %v, want ErrClosed", err)
		}
		if n, err := g.Fill(make([]int64, 3)); n != 0 || !errors.Is(err, cached.ErrClosed) {
			t.Errorf("Fill = %d, %v, want 0, ErrClosed", n, err)
		}
		g.Invalidate() // does nothing, and does not hang
		if _, err := g.Parse(id); err != nil {
			t.Errorf("Parse: %v", err)
		}
		if s := g.Stats(); s.Issued != 1 || s.Remaining != 0 || s.Retired != 8*16-1 || s.RejectedTakes != 0 || refused != 0 {
			t.Errorf("Stats = %+v, want 1 issued, 127 retired, none remaining, none rejected", s)
		}
	})
}

func TestCloseIsDoneOnce(t *testing.T) {
	failure := errors.New("no such row")
	entered, gate := make(chan struct{}), make(chan struct{})
	store := &fakeassigner.Assigner{OnAssign: fresh, OnRelease: func(context.Context, assigner.Grant, int64) error {
		close(entered)
		<-gate
		return failure
	}}
	g, err := cached.New(cached.Config{Layout: narrow(), Assigner: store})
	if err != nil {
		t.Fatal(err)
	}
	var opened atomic.Bool
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if err := g.Close(); !errors.Is(err, failure) || !strings.HasPrefix(err.Error(), "cached: ") {
				t.Errorf("Close = %v, want the error of the release", err)
			}
			if !opened.Load() {
				t.Error("Close has not waited for the release")
			}
		})
	}
	<-entered
	opened.Store(true)
	close(gate)
	wg.Wait()
	if err := g.Close(); !errors.Is(err, failure) {
		t.Errorf("Close again = %v, want the same error", err)
	}
	if n := store.Releases.Load(); n != 1 {
		t.Errorf("released %d times, want once", n)
	}
}

func TestCloseGivesTheWorkerIDBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := int64(-1)
		store := &fakeassigner.Assigner{OnAssign: fresh, OnRelease: func(ctx context.Context, _ assigner.Grant, last int64) error {
			used = last
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != 7*time.Second {
				t.Errorf("the deadline of the release is %v, want AssignTimeout from now", deadline)
			}
			return nil
		}}
		g := inBubble(t, cached.Config{Assigner: store, AssignTimeout: 7 * time.Second})
		take(t, g, 1000)
		synctest.Wait()
		last := g.Stats().LastDelta
		if err := g.Close(); err != nil || used != last {
			t.Errorf("Close = %v, released with %d, want the newest delta, %d", err, used, last)
		}
	})
}

func TestCloseWaitsNoLongerThanAssignTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fakeassigner.Assigner{OnAssign: fresh, OnRelease: func(ctx context.Context, _ assigner.Grant, _ int64) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		g, err := cached.New(cached.Config{Layout: narrow(), Epoch: bubbleEpoch(), Assigner: store, AssignTimeout: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := g.Close(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close = %v, want DeadlineExceeded", err)
		}
		if got := time.Since(start); got != 2*time.Second {
			t.Errorf("Close took %v, want 2s", got)
		}
	})
}

func TestCloseWaitsForThePaddingGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		g := inBubble(t, cached.Config{MaxStaleness: -1, Trace: cached.Trace{Padded: func(p cached.PaddedInfo) {
			if p.LastDelta > bubbleStart+8 { // not by New
				<-gate
			}
		}}})
		take(t, g, 4*16+1)
		synctest.Wait() // the padding goroutine waits in Padded
		var closed atomic.Bool
		go func() {
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			closed.Store(true)
		}()
		synctest.Wait()
		if closed.Load() {
			t.Error("Close has returned while the padding goroutine was at work")
		}
		close(gate)
		synctest.Wait()
		if !closed.Load() {
			t.Error("Close has not returned")
		}
	})
}
