package uidringtest_test

import (
	"errors"
	"slices"
	"testing"
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

func TestWorkerStartsAnew(t *testing.T) {
	first, err1 := byClock(uidringtest.Worker(7))
	second, err2 := byClock(uidringtest.Worker(7))
	if err := errors.Join(err1, err2); err != nil || !slices.Equal(first, second) {
		t.Errorf("IDs %d, then %d, %v", first, second, err)
	}
	// This is the reason for Worker: the process remembers how far a static worker ID was used.
	_, _ = byClock(assigner.Static(8)) // fails, too, when the test runs again in this process
	if _, err := byClock(assigner.Static(8)); !errors.Is(err, defaultgen.ErrClockBack) {
		t.Errorf("Static: %v, want %v", err, defaultgen.ErrClockBack)
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
