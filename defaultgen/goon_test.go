package defaultgen_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/bubble"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/together"
)

// checkTime asks that an ID is of the unit that at lies in.
func checkTime(t testing.TB, f bitsalloc.Fields, at time.Time, unit time.Duration) {
	t.Helper()
	if want := at.Truncate(unit); !f.Time.Equal(want) {
		t.Fatalf("ID of %v, want %v", f.Time, want)
	}
}

// checkUsedUp asks that the current unit has no ID left.
func checkUsedUp(t testing.TB, g *defaultgen.Generator) {
	t.Helper()
	if id, err := g.Next(); id != 0 || !errors.Is(err, defaultgen.ErrSequenceExhausted) {
		t.Fatalf("Next in a unit used up = %d, %v, want ErrSequenceExhausted", id, err)
	}
	if n, err := g.Fill(make([]int64, 2)); n != 0 || !errors.Is(err, defaultgen.ErrSequenceExhausted) {
		t.Fatalf("Fill in a unit used up = %d, %v, want ErrSequenceExhausted", n, err)
	}
}

// drain takes the IDs left after last in its unit, and all IDs of the following units, as soon as
// they are available: 16 in each unit, none before its unit has begun by the bubble's clock plus
// ahead.
func drain(t testing.TB, g *defaultgen.Generator, last bitsalloc.Fields, units int, unit, ahead time.Duration) {
	t.Helper()
	for u := range units {
		if u > 0 {
			f := wait(t, g)
			checkAt(t, f, last.Delta+1, 0)
			last = f
		}
		checkTime(t, last, time.Now().Add(ahead), unit)
		for sequence := last.Sequence + 1; sequence < 16; sequence++ {
			checkAt(t, next(t, g), last.Delta, sequence)
		}
		checkUsedUp(t, g)
	}
}

// However the clock is stepped, goroutines that ask for all they can get have 16 IDs for each unit
// that elapses.
func TestGoOnIssuesNoMoreThanTheSequencePerElapsedUnit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var by atomic.Int64
		g := open(t, defaultgen.Config{OnClockBack: defaultgen.GoOn, Now: gentest.Skewed(&by)})
		steps := []time.Duration{-time.Second, -time.Hour, 0, -time.Millisecond, -48 * time.Hour, -2 * time.Second}
		var log gentest.Ledger
		for u := range 100 {
			together.Run(8, func(i int) {
				for n := range 1000 {
					by.Store(int64(steps[(u+i*n)%len(steps)]))
					if !log.Take(t, g.Next, defaultgen.ErrSequenceExhausted) {
						return
					}
				}
			})
			if n := log.Len(); n != 16*(u+1) {
				t.Fatalf("%d IDs in %d units, want 16 in each", n, u+1)
			}
			checkTime(t, parse(t, g, log.Highest()), time.Now(), time.Second)
			time.Sleep(time.Second)
		}
		log.Check(t, 1600)
	})
}

// A single absurd reading, such as the zero Time of a clock that failed, must not derail the clock
// that is carried on.
func TestGoOnSurvivesAbsurdReadings(t *testing.T) {
	absurdAt := gentest.Start.Add(time.Second)
	for name, c := range map[string]struct {
		reading time.Time
		ahead   time.Duration // afterwards
	}{
		"zero":              {time.Time{}, 0},
		"1970":              {time.Unix(0, 0), 0},
		"as early as it is": {time.Unix(-1<<62, 0), 0},
		"a century ahead":   {absurdAt.AddDate(100, 0, 0), absurdAt.AddDate(100, 0, 0).Sub(absurdAt)},
		"year 9999":         {time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC), 1<<63 - 1}, // no further than a Duration reaches
	} {
		bubble.Run(t, name, func(t *testing.T) {
			var absurd atomic.Bool
			g := open(t, defaultgen.Config{OnClockBack: defaultgen.GoOn, Now: func() time.Time {
				if absurd.Load() {
					return c.reading
				}
				return time.Now()
			}})
			next(t, g)
			time.Sleep(time.Until(absurdAt))
			absurd.Store(true)
			next(t, g)
			absurd.Store(false)
			time.Sleep(time.Second)
			drain(t, g, wait(t, g), 5, time.Second, c.ahead)
		})
	}
}

// A predecessor in the process was ahead of the clock by an hour, and of its fence or registry the
// successor learns that it has to start above. GoOn does so at once and at the usual pace; the
// other policies leave it to the clock.
func TestWorkerThatStartsAheadOfTheClock(t *testing.T) {
	const distance = 3600 // units of a second
	granted := func(grant func(d assigner.Domain) assigner.Grant) assigner.Assigner {
		return &fakeassigner.Assigner{OnAssign: func(_ context.Context, _ int, d assigner.Domain) (assigner.Grant, error) { return grant(d), nil }}
	}
	for name, a := range map[string]func() assigner.Assigner{
		"reused": reused,
		"fresh": func() assigner.Assigner {
			return granted(func(assigner.Domain) assigner.Grant {
				return assigner.Grant{WorkerID: 9, First: 1, Limit: assigner.Unlimited}
			})
		},
		"fenced": func() assigner.Assigner {
			first := int64(0)
			return granted(func(d assigner.Domain) assigner.Grant {
				first += 11 // as the predecessor below uses
				if first == 11 {
					first = d.Now()
				}
				return assigner.Grant{WorkerID: 9, First: first, Limit: first + 1<<20, Guarantee: assigner.GuaranteeFenced, Reusable: true}
			})
		},
	} {
		for policy := range defaultgen.GoOn + 1 {
			bubble.Run(t, fmt.Sprintf("%s, policy %d", name, policy), func(t *testing.T) {
				var by atomic.Int64
				cfg := complete(defaultgen.Config{Assigner: a(), OnClockBack: defaultgen.GoOn, AllowReuse: true, Now: gentest.Skewed(&by)})
				predecessor := open(t, cfg)
				last := next(t, predecessor)
				by.Add(-distance * int64(time.Second))
				time.Sleep(10 * time.Second)
				if f := next(t, predecessor); f.Delta != last.Delta+10 {
					t.Fatalf("the predecessor ended with %v, want ten units after %v", f, last)
				}
				if err := predecessor.Close(); err != nil {
					t.Fatal(err)
				}

				cfg.OnClockBack = policy
				var g *defaultgen.Generator
				if d := gentest.Elapsed(func() { g = open(t, cfg) }); d > time.Second {
					t.Errorf("New took %v, want a unit at most", d)
				}
				first := last.Delta + 11
				if policy == defaultgen.GoOn {
					f := next(t, g)
					checkAt(t, f, first, 0)
					drain(t, g, f, 20, time.Second, time.Until(f.Time))
					return
				}
				behind := distance*time.Second - time.Second // New has waited for a unit
				_, err := g.Next()
				checkBack(t, err, behind)
				time.Sleep(behind)
				checkUsedUp(t, g) // the predecessor's last unit
				time.Sleep(time.Second)
				checkAt(t, next(t, g), first, 0)
			})
		}
	}
}

// The last unit of the grant is within it.
func TestGoOnStaysInTheLastUnitOfTheGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var by atomic.Int64
		g := open(t, defaultgen.Config{OnClockBack: defaultgen.GoOn, Assigner: &fakeassigner.Assigner{OnAssign: fakeassigner.Fenced(3)}, Now: gentest.Skewed(&by)})
		by.Store(int64(2 * time.Second))
		first := next(t, g)
		by.Store(int64(-time.Hour))
		checkAt(t, next(t, g), first.Delta, 1)
	})
}
