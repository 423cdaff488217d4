package dashboard

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A viewer learns since when there are no IDs, though there was no viewer at that time, and when
// the store answered last.
func TestVerdictHasTheStartOfAnEarlierFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		cfg := quietly(t, bitsalloc.Default(), func() cached.Stats {
			renewals := min(int64(time.Since(began)/time.Second), 5)
			return cached.Stats{LastGranted: assigner.Unlimited, Capacity: 100, Ahead: 3 * time.Hour, Renewals: renewals}
		})
		time.AfterFunc(8*time.Second, func() { cfg.StoreCalls.Trace().RenewFailed(assigner.LeaseInfo{Err: context.DeadlineExceeded}) })
		cfg.API = quiet{noLease: time.Now().Add(10 * time.Second)}
		p := New(cfg)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); p.Run(ctx) }()
		time.Sleep(time.Hour)
		synctest.Wait()
		text, ahead := string(p.feed.latest().event), p.feed.situation(p.feed.last).began
		if !strings.Contains(text, "No IDs since 00:00:10 UTC. Store  has not answered since 00:00:05 UTC") || ahead != 2*time.Hour {
			t.Errorf("%s, began %v ahead; want no IDs since 00:00:10, an answer at 00:00:05, and 2h an hour after the start", text, ahead)
		}
		cancel()
		<-ended
	})
}

// The list has the holders of a real store, and stays when the store is lost.
func TestServersAreListed(t *testing.T) {
	folder := t.TempDir()
	hold := func(owner string) *cached.Generator {
		lease := assigner.Leased(fileassigner.LeaseStore(folder, fileassigner.Config{}), assigner.LeaseConfig{AllowUndurable: true, Owner: owner})
		return testgen.Cached(t, cached.Config{Assigner: lease})
	}
	hold("ids-1")
	gone := hold("ids-2")
	hold("ids-3")
	testkit.Must(t, gone.Close()) // it gives its worker ID back
	s := servers{store: fileassigner.LeaseStore(folder, fileassigner.Config{}), alloc: testgen.Allocator(t, bitsalloc.Default(), time.Time{})}
	s.read(t.Context())
	if len(s.last.Servers) != 2 || s.last.Servers[0].Owner != "ids-1" || s.last.Servers[1].Owner != "ids-3" || s.last.Servers[1].WorkerID != 2 {
		t.Fatalf("servers are %+v, want ids-1 and ids-3 with their worker IDs", s.last.Servers)
	}
	for _, each := range s.last.Servers {
		if each.Left <= 0 || each.Left > 241 || each.Ahead <= 0 || each.Ahead > 480 {
			t.Errorf("%+v, want a lease of up to two windows, and a fence ahead of the clock", each)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.read(ended)
	if !s.last.Failed || len(s.last.Servers) != 2 {
		t.Errorf("after a failure: %+v, want the last list, and that the store has failed", s.last)
	}
}
