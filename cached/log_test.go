package cached_test

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
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
	"github.com/uidring/uidring/internal/testkit/recorder"
)

// An occasion makes a generator log.
type occasion struct {
	store  func() *fakeassigner.Assigner
	config func(*cached.Config)
	during func(*cached.Generator)
	stuck  bool   // the worker ID cannot be released
	want   string // W is the first worker ID, V the second
}

// occasions has one for each record of a generator.
func occasions() map[string]occasion {
	return map[string]occasion{
		"lost": {
			store: func() *fakeassigner.Assigner {
				s := &fakeassigner.Assigner{OnAssign: fresh}
				s.OnRenew = func(context.Context, *assigner.Grant, int64, int64) error {
					if s.Assigns.Load() == 1 {
						return fmt.Errorf("%w: taken over by \"b\"", assigner.ErrWorkerRowLost)
					}
					return nil
				}
				return s
			},
			want: `
level=INFO msg="worker ID assigned" worker=W datacenter=3 guarantee=fresh
level=ERROR msg="worker ID lost" worker=W error="assigner: worker row lost: taken over by \"b\""
level=INFO msg="worker ID assigned" worker=V datacenter=3 guarantee=fresh
level=INFO msg="worker ID released" worker=V
`,
		},
		"outage": {
			store: func() *fakeassigner.Assigner {
				s := &fakeassigner.Assigner{OnAssign: fresh}
				s.OnRenew = func(context.Context, *assigner.Grant, int64, int64) error {
					if s.Renewals.Load() < 10 {
						return errors.New("connection refused")
					}
					return nil
				}
				return s
			},
			want: `
level=INFO msg="worker ID assigned" worker=W datacenter=3 guarantee=fresh
level=WARN msg="worker ID: call to the store failed" worker=W error="connection refused"
level=INFO msg="worker ID: the store answers again" worker=W
level=INFO msg="worker ID released" worker=W
`,
		},
		"quarantine": {
			store: func() *fakeassigner.Assigner {
				s := &fakeassigner.Assigner{}
				s.OnAssign = func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
					if nth == 1 {
						return assigner.Grant{}, &assigner.QuarantineError{WorkerID: 77, Remaining: 40 * time.Second, Reason: "the store is another one"}
					}
					return fresh(ctx, nth, d)
				}
				return s
			},
			want: `
level=WARN msg="waiting for a worker ID" retry=40s error="assigner: worker ID in quarantine: worker 77 for 40s more: the store is another one"
level=INFO msg="worker ID assigned" worker=W datacenter=3 guarantee=fresh
level=INFO msg="worker ID released" worker=W
`,
		},
		"end of the layout": {
			config: func(cfg *cached.Config) { cfg.Layout.DeltaBits = 24 },
			want: `
level=INFO msg="worker ID assigned" worker=W datacenter=3 guarantee=fresh
level=WARN msg="the delta field is used up within a year" expires=2000-07-12T04:20:16.000Z layout=24/5/17/4@1s
level=INFO msg="worker ID released" worker=W
`,
		},
		"panic": {
			config: func(cfg *cached.Config) {
				cfg.Trace.Padded = func(cached.PaddedInfo) { panic("a mistake") }
			},
			want: `
level=INFO msg="worker ID assigned" worker=W datacenter=3 guarantee=fresh
level=ERROR msg="panic in Trace.Padded" panic="a mistake" stack="(of a goroutine)"
level=INFO msg="worker ID released" worker=W
`,
		},
		"invalidated": {
			during: (*cached.Generator).Invalidate,
			want: `
level=INFO msg="worker ID assigned" worker=W datacenter=3 guarantee=fresh
level=INFO msg="worker ID invalidated" worker=W
level=INFO msg="worker ID assigned" worker=V datacenter=3 guarantee=fresh
level=INFO msg="worker ID released" worker=V
`,
		},
		"not released": {
			store: func() *fakeassigner.Assigner {
				return &fakeassigner.Assigner{OnAssign: fresh, OnRelease: func(context.Context, assigner.Grant, int64) error { return errors.New("connection refused") }}
			},
			stuck: true,
			want: `
level=INFO msg="worker ID assigned" worker=W datacenter=3 guarantee=fresh
level=WARN msg="worker ID not released" worker=W error="connection refused"
`,
		},
	}
}

// TestLogRecords pins levels, messages and keys down: people search and alert for them.
func TestLogRecords(t *testing.T) {
	for name, row := range occasions() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log recorder.Recorder
				var given []string
				cfg := cached.Config{
					Layout: narrow(), Epoch: bubbleEpoch(), DatacenterID: 3, MaxStaleness: -1, Assigner: &fakeassigner.Assigner{OnAssign: fresh}, Logger: log.TextLogger(),
					Trace: cached.Trace{LeaseAssigned: func(g assigner.Grant) { given = append(given, fmt.Sprint(g.WorkerID)) }},
				}
				if row.store != nil {
					cfg.Assigner = row.store()
				}
				if row.config != nil {
					row.config(&cfg)
				}
				g, err := cached.NewContext(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				if row.during != nil {
					row.during(g)
				}
				time.Sleep(2 * time.Minute)
				if err := g.Close(); (err != nil) != row.stuck {
					t.Fatal(err)
				}
				given = append(given, "none")
				want := strings.NewReplacer("=W ", "="+given[0]+" ", "=W\n", "="+given[0]+"\n", "=V ", "="+given[1]+" ", "=V\n", "="+given[1]+"\n").Replace(row.want[1:])
				if got := strings.Join(log.Read(), "\n") + "\n"; got != want {
					t.Errorf("log:\n%s\nwant:\n%s", got, want)
				}
			})
		})
	}
}

// TestOperationsListsEveryRecord holds the table of the documentation to the records.
func TestOperationsListsEveryRecord(t *testing.T) {
	text, err := os.ReadFile("../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	documented, want := make(map[string]bool), make(map[string]bool)
	for _, m := range regexp.MustCompile("(?m)^\\| ([A-Z]+) \\| `([^`]+)` \\| ([a-z, ]+) \\|").FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(m[2], "assigner: ") { // stores log these
			documented[m[1]+" "+m[2]+": "+m[3]] = true
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
			message := strings.Replace(strings.Trim(pairs[1][2], `"`), "Trace.Padded", "Trace.…", 1)
			want[pairs[0][2]+" "+message+": "+strings.Join(keys, ", ")] = true
		}
	}
	if !maps.Equal(documented, want) {
		t.Errorf("docs/OPERATIONS.md has the records\n%q\nwant\n%q", slices.Sorted(maps.Keys(documented)), slices.Sorted(maps.Keys(want)))
	}
}
