package gentest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
	"github.com/uidring/uidring/internal/testkit/recorder"
)

// An occasion makes a generator log.
type occasion struct {
	answer     func(*fakeassigner.Assigner)
	config     func(*keeper.Settings)
	invalidate bool   // in the middle
	stuck      bool   // the worker ID cannot be released
	want       string // the first worker ID is 1
}

// occasions has one for each record of a generator.
func occasions() map[string]occasion {
	return map[string]occasion{
		"lost": {
			answer: func(s *fakeassigner.Assigner) {
				s.OnRenew = func(context.Context, *assigner.Grant, int64, int64) error {
					if s.Assigns.Load() == 1 {
						return fmt.Errorf("%w: taken over by \"b\"", assigner.ErrWorkerRowLost)
					}
					return nil
				}
			},
			want: `
level=INFO msg="worker ID assigned" worker=1 datacenter=3 guarantee=fresh
level=ERROR msg="worker ID lost" worker=1 error="assigner: worker row lost: taken over by \"b\""
level=INFO msg="worker ID assigned" worker=2 datacenter=3 guarantee=fresh
level=INFO msg="worker ID released" worker=2`,
		},
		"outage": {
			answer: func(s *fakeassigner.Assigner) {
				s.OnRenew = func(context.Context, *assigner.Grant, int64, int64) error {
					if s.Renewals.Load() < 10 {
						return errors.New("connection refused")
					}
					return nil
				}
			},
			want: `
level=INFO msg="worker ID assigned" worker=1 datacenter=3 guarantee=fresh
level=WARN msg="worker ID: call to the store failed" worker=1 error="connection refused"
level=INFO msg="worker ID: the store answers again" worker=1
level=INFO msg="worker ID released" worker=1`,
		},
		"quarantine": {
			answer: func(s *fakeassigner.Assigner) {
				s.OnAssign = func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
					if nth == 1 {
						return assigner.Grant{}, &assigner.QuarantineError{WorkerID: 77, Remaining: 40 * time.Second, Reason: "the store is another one"}
					}
					return fakeassigner.Fresh(ctx, nth, d)
				}
			},
			want: `
level=WARN msg="waiting for a worker ID" retry=40s error="assigner: worker ID in quarantine: worker 77 for 40s more: the store is another one"
level=INFO msg="worker ID assigned" worker=2 datacenter=3 guarantee=fresh
level=INFO msg="worker ID released" worker=2`,
		},
		"end of the layout": {
			config: func(c *keeper.Settings) {
				c.Layout.DeltaBits, c.Epoch = 24, start.Add(-24*time.Hour)
			},
			want: `
level=INFO msg="worker ID assigned" worker=1 datacenter=3 guarantee=fresh
level=WARN msg="the delta field is used up within a year" expires=2000-07-12T04:20:16.000Z layout=24/5/17/4@1s
level=INFO msg="worker ID released" worker=1`,
		},
		"panic": {
			config: func(c *keeper.Settings) {
				c.Trace.LeaseAssigned = func(assigner.Grant) { panic("a mistake") }
			},
			want: `
level=INFO msg="worker ID assigned" worker=1 datacenter=3 guarantee=fresh
level=ERROR msg="panic in Trace.LeaseAssigned" panic="a mistake" stack="(of a goroutine)"
level=INFO msg="worker ID released" worker=1`,
		},
		"invalidated": {
			invalidate: true,
			want: `
level=INFO msg="worker ID assigned" worker=1 datacenter=3 guarantee=fresh
level=INFO msg="worker ID invalidated" worker=1
level=INFO msg="worker ID assigned" worker=2 datacenter=3 guarantee=fresh
level=INFO msg="worker ID released" worker=2`,
		},
		"not released": {
			answer: func(s *fakeassigner.Assigner) {
				s.OnRelease = func(context.Context, assigner.Grant, int64) error { return errors.New("connection refused") }
			},
			stuck: true,
			want: `
level=INFO msg="worker ID assigned" worker=1 datacenter=3 guarantee=fresh
level=WARN msg="worker ID not released" worker=1 error="connection refused"`,
		},
	}
}

// logRecords pins levels, messages and keys down, since operators search and alert for them.
func (s *suite) logRecords(t *testing.T) {
	for name, row := range occasions() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log recorder.Recorder
				store := &fakeassigner.Assigner{}
				if row.answer != nil {
					row.answer(store)
				}
				c := s.config(keeper.Settings{DatacenterID: 3, Assigner: store, Logger: log.TextLogger()})
				if row.config != nil {
					row.config(&c.Settings)
				}
				g, err := s.make(t, c)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if row.invalidate && !invalidate(g) {
					t.Cleanup(func() { _ = g.Close() })
					return
				}
				time.Sleep(2 * time.Minute)
				if err := g.Close(); (err != nil) != row.stuck {
					t.Fatal(err)
				}
				if got := "\n" + strings.Join(log.Read(), "\n"); got != row.want {
					t.Errorf("log:%s\nwant:%s", got, row.want)
				}
			})
		})
	}
	t.Run("documented", documented)
}

// documented holds the table of the documentation to the records.
func documented(t *testing.T) {
	text, err := os.ReadFile("../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	listed, want := make(map[string]bool), make(map[string]bool)
	for _, m := range regexp.MustCompile("(?m)^\\| ([A-Z]+) \\| `([^`]+)` \\| ([a-z, ]+) \\|").FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(m[2], "assigner: ") { // stores log these
			listed[m[1]+" "+m[2]+": "+m[3]] = true
		}
	}
	key := regexp.MustCompile(`([a-z]+)=("(\\.|[^"])*"|\S+)`)
	for _, row := range occasions() {
		for line := range strings.Lines(row.want[1:]) {
			var keys []string
			pairs := key.FindAllStringSubmatch(line, -1)
			for _, pair := range pairs[2:] {
				keys = append(keys, pair[1])
			}
			message := strings.Replace(strings.Trim(pairs[1][2], `"`), "Trace.LeaseAssigned", "Trace.…", 1)
			want[pairs[0][2]+" "+message+": "+strings.Join(keys, ", ")] = true
		}
	}
	if !maps.Equal(listed, want) {
		t.Errorf("docs/OPERATIONS.md has the records\n%q\nwant\n%q", slices.Sorted(maps.Keys(listed)), slices.Sorted(maps.Keys(want)))
	}
}
