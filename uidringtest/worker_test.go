package uidringtest_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/uidringtest"
)

func noon() time.Time { return time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC) }

// byClock takes IDs of a generator of package defaultgen whose clock begins at noon.
func byClock(a assigner.Assigner) (ids []int64, err error) {
	clock := uidringtest.NewClock(noon())
	g, err := defaultgen.New(defaultgen.Config{Assigner: a, Now: clock.Now, Layout: bitsalloc.Snowflake()})
	if err != nil {
		return nil, err
	}
	defer g.Close()
	for range 10 {
		clock.Advance(time.Second)
		id, err := g.Next()
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func TestGeneratorsStartAnew(t *testing.T) {
	first, err := byClock(uidringtest.Worker(7))
	if err != nil {
		t.Fatal(err)
	}
	second, err := byClock(uidringtest.Worker(7))
	if err != nil || !slices.Equal(first, second) {
		t.Errorf("IDs %d, then %d, %v", first, second, err)
	}
}

// This is the reason for Worker: the process remembers how far a static worker ID was used.
func TestAStaticWorkerIDDoesNotStartAnew(t *testing.T) {
	_, _ = byClock(assigner.Static(8)) // fails, too, when the test runs again in this process
	if _, err := byClock(assigner.Static(8)); !errors.Is(err, defaultgen.ErrClockBack) {
		t.Errorf("%v, want %v", err, defaultgen.ErrClockBack)
	}
}

// Package cached issues the same IDs in a bubble, too, where time.Now is before the epoch.
func TestRingsStartAnew(t *testing.T) {
	var runs [][]int64
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			g, err := cached.New(cached.Config{Assigner: uidringtest.Worker(7), Now: uidringtest.NewClock(noon()).Now})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			ids := make([]int64, 10_000)
			if _, err := g.Fill(ids); err != nil {
				t.Fatal(err)
			}
			runs = append(runs, ids)
		})
	}
	alloc, err := bitsalloc.New(bitsalloc.Default(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := alloc.Parse(runs[0][0])
	if err != nil || f.WorkerID != 7 || f.Time.Sub(noon()).Abs() > time.Second {
		t.Errorf("the first ID is %v, %v, want worker 7 at noon", f, err)
	}
	if !slices.Equal(runs[0], runs[1]) {
		t.Error("two runs issue different IDs")
	}
}

func TestWorkerChecksTheLayout(t *testing.T) {
	for _, id := range []int64{-1, 1 << 10} {
		_, err := cached.New(cached.Config{Assigner: uidringtest.Worker(id), Layout: bitsalloc.Snowflake()})
		if !errors.Is(err, assigner.ErrWorkerOutOfRange) {
			t.Errorf("worker %d: %v, want %v", id, err, assigner.ErrWorkerOutOfRange)
		}
	}
}
