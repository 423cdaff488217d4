package gentest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/testkit/bubble"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
	"github.com/uidring/uidring/internal/testkit/recorder"
)

// noLease is an assigner that returns neither a lease nor an error.
type noLease struct{ typed bool }

func (a noLease) Assign(context.Context, assigner.Domain) (assigner.Lease, error) {
	if a.typed {
		return (*fakeassigner.Lease)(nil), nil
	}
	return nil, nil
}

// assignerErrors has assigners that fail, or give answers that are not allowed.
func (s *suite) assignerErrors(t *testing.T) {
	down := errors.New("store out of reach")
	gives := func(g assigner.Grant, err error) assigner.Assigner {
		return &fakeassigner.Assigner{OnAssign: func(context.Context, int, assigner.Domain) (assigner.Grant, error) { return g, err }}
	}
	for name, row := range map[string]struct {
		assigner assigner.Assigner
		is       error // unless nil
		says     string
	}{
		"store down": {gives(assigner.Grant{}, down), down, "store out of reach"},
		"panic": {&fakeassigner.Assigner{OnAssign: func(context.Context, int, assigner.Domain) (assigner.Grant, error) {
			panic("ouch")
		}}, nil, "ouch"},
		"worker ID below its field": {gives(assigner.Grant{WorkerID: -1, First: 1, Limit: assigner.Unlimited}, nil), assigner.ErrWorkerOutOfRange, "-1 from"},
		"worker ID above its field": {gives(assigner.Grant{WorkerID: 1 << 17, First: 1, Limit: assigner.Unlimited}, nil), assigner.ErrWorkerOutOfRange, "131072 from"},
		"static, below":             {assigner.Static(-1), assigner.ErrWorkerOutOfRange, "0 to 131071"},
		"static":                    {assigner.Static(1 << 17), assigner.ErrWorkerOutOfRange, "0 to 131071"},
		"beyond the end":            {gives(assigner.Grant{WorkerID: 1, First: 1 << 28, Limit: assigner.Unlimited}, nil), s.Errors.TimeExhausted, "used up"},
		"no lease":                  {noLease{}, assigner.ErrWorkerUnknown, "neither a lease nor an error"},
		"nil lease":                 {noLease{typed: true}, nil, "panic"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // which fails when a goroutine is left
				c := s.config(keeper.Settings{Assigner: row.assigner})
				c.AllowReuse = true
				_, err := s.make(t, c)
				if err == nil || row.is != nil && !errors.Is(err, row.is) || !strings.Contains(err.Error(), row.says) || !strings.HasPrefix(err.Error(), s.Package+": ") {
					t.Errorf("New = %v, want %v that says %q", err, row.is, row.says)
				}
				store, ok := row.assigner.(*fakeassigner.Assigner)
				if given := row.says != "ouch" && !errors.Is(err, down); ok && given && store.Releases.Load() != 1 {
					t.Errorf("%d releases, want one", store.Releases.Load())
				}
			})
		})
	}
}

// oneGenerator has a second generator with the worker ID of a live one, in the same epoch, in
// another time zone as well. It is refused, unless its datacenter is another.
func (s *suite) oneGenerator(t *testing.T) {
	c := s.config(keeper.Settings{Assigner: assigner.Static(5)})
	c.AllowReuse = true
	c.Epoch = c.Epoch.In(time.FixedZone("", 5*3600))
	first := s.openWith(t, c)
	if f := next(t, first); time.Until(f.Time).Abs() > s.Off {
		t.Errorf("%v at %v: the epoch is an instant", f, time.Now())
	}
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("", 8*3600)} {
		again := c
		again.Epoch = c.Epoch.In(zone)
		if _, err := s.make(t, again); !errors.Is(err, assigner.ErrWorkerInUse) {
			t.Errorf("a second generator: %v, want ErrWorkerInUse", err)
		}
	}
	other := c
	other.DatacenterID = 1
	s.openWith(t, other)
	last := take(t, first, 100)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if f := next(t, s.openWith(t, c)); f.ID <= last.ID {
		t.Errorf("%v after %v of its predecessor", f, last)
	}
}

// lastUnit has a worker ID that comes back, in the last unit of the layout: an earlier process may
// have used that unit.
func (s *suite) lastUnit(t *testing.T) {
	layout := narrow()
	layout.DeltaBits = 10
	c := s.config(keeper.Settings{Layout: layout, Assigner: assigner.Static(7)})
	c.AllowReuse = true
	c.Now = func() time.Time { return c.Epoch.Add(1023 * time.Second) }
	if _, err := s.make(t, c); !errors.Is(err, s.Errors.TimeExhausted) {
		t.Errorf("New = %v, want %v", err, s.Errors.TimeExhausted)
	}
}

// contextOfNew ends the context of New, which the generator does not use afterwards.
func (s *suite) contextOfNew(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	store := &fakeassigner.Assigner{}
	g, err := s.New(ctx, s.config(keeper.Settings{Assigner: store}))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	time.Sleep(time.Hour)
	next(t, g)
	if n := store.Renewals.Load(); n < 60 {
		t.Errorf("%d renewals in an hour, want one a minute at least", n)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// announcements returns how often the end of the layout was traced and logged.
func announcements(events, log *recorder.Recorder) string {
	logged := 0
	for _, line := range log.Read() {
		if strings.HasPrefix(line, "WARN the delta field is used up within a year") {
			logged++
		}
	}
	return fmt.Sprintf("%d, %d", len(events.Read()), logged)
}

// lastYear starts generators at some distance from the end of the layout.
func (s *suite) lastYear(t *testing.T) {
	ends := time.Date(2024, time.November, 20, 13, 24, 16, 0, time.UTC)
	early := time.Nanosecond
	if s.Gapless { // it prepares IDs
		early = time.Minute
	}
	for name, row := range map[string]struct {
		now  time.Time
		warn bool
	}{
		"a year and a day": {ends.AddDate(-1, 0, -1), false},
		"just before":      {ends.AddDate(-1, 0, 0).Add(-early), false},
		"a year":           {ends.AddDate(-1, 0, 0), true},
		"a day":            {ends.AddDate(0, 0, -1), true},
	} {
		bubble.Run(t, name, func(t *testing.T) {
			var events, log recorder.Recorder
			g := s.open(t, keeper.Settings{
				Layout: bitsalloc.Baidu(), Epoch: time.Unix(1463673600, 0), Assigner: assigner.Assigner(&fakeassigner.Assigner{
					OnAssign: func(ctx context.Context, _ int, d assigner.Domain) (assigner.Grant, error) {
						return fakeassigner.Fresh(ctx, int(epochs.Add(1)), d) // the epoch is not the test's own
					}}),
				Now: func() time.Time { return row.now }, Logger: log.Logger(),
				Trace: keeper.Trace{Expiring: func(expires time.Time) { events.Note("%v", expires.Equal(ends)) }},
			})
			take(t, g, 1000)
			synctest.Wait()
			if st := s.Stats(g); st.Expiring != row.warn || !st.Expires.Equal(ends) {
				t.Errorf("Stats: Expiring %v, Expires %v, want %v, %v", st.Expiring, st.Expires, row.warn, ends)
			}
			want := "0, 0"
			if row.warn {
				want = "1, 1"
			}
			if got := announcements(&events, &log); got != want {
				t.Errorf("announced: %s, want %s", got, want)
			}
		})
	}
}

// lastYearInService has the last year begin while a generator runs.
func (s *suite) lastYearInService(t *testing.T) {
	var events, log recorder.Recorder
	layout := narrow()
	layout.DeltaBits = 25 // 388 days, of which a day has gone by
	c := s.config(keeper.Settings{Layout: layout, Logger: log.Logger()})
	expires := c.Epoch.Add(1 << 25 * time.Second)
	c.Trace.Expiring = func(at time.Time) { events.Note("%v", at.Equal(expires)) }
	g := s.openWith(t, c)
	time.Sleep(time.Until(expires.AddDate(-1, 0, 0).Add(-2 * time.Minute)))
	next(t, g)
	if got := announcements(&events, &log); got != "0, 0" {
		t.Errorf("announced too early: %s", got)
	}
	for i := range 20 {
		time.Sleep(15 * time.Second)
		next(t, g)
		synctest.Wait()
		if st := s.Stats(g); st.Expiring != !time.Now().Before(expires.AddDate(-1, 0, 0)) && i != 7 { // IDs may be ahead by some units
			t.Errorf("Stats at %v: Expiring is %v", time.Now(), st.Expiring)
		}
	}
	if lines := events.Read(); len(lines) != 1 || lines[0] != "true" {
		t.Errorf("Expiring was called %q, want once with %v", lines, expires)
	}
	if got := announcements(&events, &log); got != "0, 1" {
		t.Errorf("announced: %s, want one record", got)
	}
}
