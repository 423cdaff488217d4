package dashboard

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testgen"
)

func allocator(t *testing.T) *bitsalloc.Allocator {
	t.Helper()
	a, err := bitsalloc.New(bitsalloc.Default(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A page that runs keeps the readings of the last 15 minutes, whether it has viewers or not.
func TestRunKeepsTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		issued := int64(0)
		p := New(Config{Allocator: allocator(t), Stats: func() cached.Stats {
			issued += 1000
			return cached.Stats{Issued: issued, Limit: assigner.Unlimited, Capacity: 100, Remaining: 50}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); p.Run(ctx) }()
		for _, test := range []struct {
			after time.Duration
			want  int
		}{{10 * time.Second, 11}, {10 * time.Minute, 611}, {time.Hour, 900}} {
			time.Sleep(test.after)
			synctest.Wait()
			p.stream.feed.mu.Lock() // for the race detector
			h := p.stream.feed.history
			if n := len(h.Time); n != test.want || len(h.P99) != n || float64(h.Time[n-1]-h.Time[0]) != float64(n-1) {
				t.Errorf("%d readings from %v to %v, want the last %d, one per second", n, h.Time[0], h.Time[n-1], test.want)
			}
			if rate, fill := h.Rate[len(h.Rate)-1], h.Fill[len(h.Fill)-1]; rate != 1000 || fill != 50 {
				t.Errorf("the last reading has rate %v and fill %v, want 1000 and 50", rate, fill)
			}
			p.stream.feed.mu.Unlock()
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
		t.Run(test.name, func(t *testing.T) {
			var h history
			for _, at := range test.times {
				h.add(point{Time: at, Rate: 2 * at, P99: 3 * at})
			}
			if fmt.Sprint(h.Time) != test.want {
				t.Errorf("times %v, want %s", h.Time, test.want)
			}
			for i, at := range h.Time {
				if h.Rate[i] != 2*at || h.P99[i] != 3*at {
					t.Errorf("at %v: rate %v and p99 %v of another time", at, h.Rate[i], h.P99[i])
				}
			}
		})
	}
}

func TestTrafficIsReadFromTheMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "uidring_http_requests_total", Help: "h"}, []string{"route", "code"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "uidring_http_request_duration_seconds", Help: "h", Buckets: []float64{0.001, 0.01, 0.1},
	}, []string{"route"})
	registry.MustRegister(requests, duration)
	answer := func(route, code string, n int, took float64) {
		for range n {
			requests.WithLabelValues(route, code).Inc()
			duration.WithLabelValues(route).Observe(took)
		}
	}
	if got := readTraffic(registry).p99(traffic{}); !math.IsNaN(float64(got)) {
		t.Errorf("p99 %v without requests, want none", got)
	}
	answer("/v1/id", "200", 90, 0.0005)
	answer("/v1/ids", "200", 10, 0.005)
	answer("/v1/ids", "429", 4, 0.0005)
	answer("/v1/segments/{name}", "503", 3, 0.0005)
	answer("/events", "200", 1000, 5)
	before := readTraffic(registry)
	if before.answered != 107 || before.refused != 4 || before.failed != 3 {
		t.Errorf("answered %v, refused %v, failed %v, want 107, 4, 3", before.answered, before.refused, before.failed)
	}
	for _, test := range []struct {
		name string
		n    int
		took float64
		want number
	}{
		{"nothing", 0, 0, none()},
		{"fast", 100, 0.0005, 0.00099},
		{"slower", 100, 0.05, 0.01 + 0.09*0.99},
		{"slower than all buckets", 100, 3, 0.1},
	} {
		answer("/v1/id", "200", test.n, test.took)
		now := readTraffic(registry)
		got := now.p99(before)
		if same := math.Abs(float64(got-test.want)) < 1e-9; !same && !math.IsNaN(float64(got+test.want)) {
			t.Errorf("%s: p99 %v, want %v", test.name, got, test.want)
		}
		before = now
	}
}

// TestServersAreListed: the list has the holders of a real store, and stays when the store is lost.
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
	s := servers{store: fileassigner.LeaseStore(folder), alloc: allocator(t)}
	s.read(t.Context())
	if len(s.last.Servers) != 2 || s.last.Servers[0].Owner != "ids-1" || s.last.Servers[1].Owner != "ids-3" || s.last.Servers[1].WorkerID != 2 {
		t.Fatalf("servers are %+v, want ids-1 and ids-3 with their worker IDs", s.last.Servers)
	}
	for _, each := range s.last.Servers {
		if each.Left <= 0 || each.Left > 61 || each.Ahead <= 0 || each.Ahead > 120 {
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
