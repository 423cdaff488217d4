package dashboard

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testgen"
)

// A page that runs keeps the readings of the last 15 minutes, whether it has viewers or not.
func TestRunKeepsTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issued := int64(0)
		p := New(quietly(t, bitsalloc.Default(), func() cached.Stats {
			issued += 1000
			return cached.Stats{Issued: issued, Limit: assigner.Unlimited, Capacity: 100, Remaining: 50}
		}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); p.Run(ctx) }()
		for _, test := range []struct {
			after time.Duration
			want  int
		}{{10 * time.Second, 11}, {10 * time.Minute, 611}, {time.Hour, 900}} {
			time.Sleep(test.after)
			synctest.Wait()
			p.feed.mu.Lock() // for the race detector
			h := p.feed.history
			if n := len(h); n != test.want || float64(h[n-1].Time-h[0].Time) != float64(n-1) {
				t.Errorf("%d readings from %v to %v, want the last %d, one per second", n, h[0].Time, h[n-1].Time, test.want)
			}
			if last := h[len(h)-1]; last.Rate != 1000 || last.Fill != 50 {
				t.Errorf("the last reading has rate %v and fill %v, want 1000 and 50", last.Rate, last.Fill)
			}
			p.feed.mu.Unlock()
		}
		cancel()
		<-ended
	})
}

func TestHistoryIsInOrder(t *testing.T) {
	for _, test := range []struct {
		name  string
		times []number
		want  string
	}{
		{"one after the other", []number{1, 2, 3}, "[1 2 3]"},
		{"after a pause", []number{1, 2, 902}, "[902]"},
		{"within 15 minutes", []number{1, 2, 901.5}, "[2 901.5]"},
		{"the clock was set back", []number{3600, 3601, 3602, 3601}, "[3600 3601]"},
		{"far back", []number{3600, 3601, 5, 6}, "[5 6]"},
	} {
		var h history
		for _, at := range test.times {
			h = h.add(point{Time: at})
		}
		var times []number
		for _, p := range h {
			times = append(times, p.Time)
		}
		if fmt.Sprint(times) != test.want {
			t.Errorf("%s: times %v, want %s", test.name, times, test.want)
		}
	}
}

// The list has the holders of a real store, and stays when the store is lost.
func TestServersAreListed(t *testing.T) {
	folder := t.TempDir()
	hold := func(owner string) *cached.Generator {
		lease := assigner.Leased(fileassigner.LeaseStore(folder), assigner.LeaseConfig{AllowUndurable: true, Owner: owner})
		return testgen.Cached(t, cached.Config{Assigner: lease})
	}
	hold("ids-1")
	gone := hold("ids-2")
	hold("ids-3")
	if err := gone.Close(); err != nil { // it gives its worker ID back
		t.Fatal(err)
	}
	s := servers{store: fileassigner.LeaseStore(folder), alloc: allocator(t, bitsalloc.Default())}
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
