package uidringtest_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/uidringtest"
)

func TestNewIssuesIDsAStepApart(t *testing.T) {
	const most = math.MaxInt64
	for _, row := range []struct {
		first, step int64
		want        []int64 // of four calls; then the sequence ends if there are fewer
	}{
		{1, 1, []int64{1, 2, 3, 4}},
		{100, 10, []int64{100, 110, 120, 130}},
		{7, 0, []int64{7, 7, 7, 7}},
		{5, -2, []int64{5, 3, 1}},
		{most - 1, 1, []int64{most - 1, most}},
		{most, most, []int64{most}},
		{1, math.MinInt64, []int64{1}},
		{0, 1, nil},
		{-1, 1, nil},
	} {
		g := uidringtest.New(row.first, row.step)
		var got []int64
		id, err := g.Next()
		for ; err == nil && len(got) < 4; id, err = g.Next() {
			got = append(got, id)
		}
		filled := make([]int64, 4)
		n, errFill := uidringtest.New(row.first, row.step).Fill(filled)
		if !slices.Equal(got, row.want) || !slices.Equal(filled[:n], row.want) {
			t.Errorf("New(%d, %d): %d by Next and %d by Fill, want %d", row.first, row.step, got, filled[:n], row.want)
		}
		if end := len(row.want) < 4; end != errors.Is(errFill, uidringtest.ErrExhausted) || end != errors.Is(err, uidringtest.ErrExhausted) {
			t.Errorf("New(%d, %d): %v by Next and %v by Fill; the sequence ends: %v", row.first, row.step, err, errFill, end)
		}
	}
}

func TestGeneratorIssuesOneSequenceByAllMethods(t *testing.T) {
	g := uidringtest.New(1, 1)
	id1, err1 := g.Next()
	id2, err2 := g.NextContext(t.Context())
	dst := make([]int64, 2)
	n, err3 := g.FillContext(t.Context(), dst)
	first, got, err4 := g.ReserveContext(t.Context(), 3)
	last, err5 := g.Next()
	ids := []int64{id1, id2, dst[0], dst[1], first, last}
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil || n != 2 || got != 3 || !slices.Equal(ids, []int64{1, 2, 3, 4, 5, 8}) {
		t.Errorf("IDs %d, %d filled, %d reserved, %v", ids, n, got, err)
	}
	for _, row := range []struct {
		step      int64
		ask, want int
	}{{2, 3, 1}, {1, math.MaxInt, 1 << 20}} {
		g := uidringtest.New(1, row.step)
		if first, n, err := g.Reserve(row.ask); first != 1 || n != row.want || err != nil {
			t.Errorf("Reserve(%d) with a step of %d = %d, %d, %v, want %d IDs", row.ask, row.step, first, n, err, row.want)
		}
		if next, err := g.Next(); next != 1+int64(row.want)*row.step || err != nil {
			t.Errorf("after Reserve(%d) with a step of %d: %d, %v", row.ask, row.step, next, err)
		}
	}
}

func TestFailAndBreakFailCalls(t *testing.T) {
	weather, storm := errors.New("weather"), errors.New("storm")
	g := uidringtest.New(1, 1)
	g.Fail(nil, weather)
	g.Fail(storm)
	g.Break(storm)
	if n, err := g.Fill(make([]int64, 2)); n != 0 || !errors.Is(err, storm) {
		t.Errorf("Fill = %d, %v, want %v", n, err, storm)
	}
	g.Break(nil) // which has used up no error of Fail
	for i, want := range []error{nil, weather, storm, nil} {
		if id, err := g.Next(); !errors.Is(err, want) || (id == 0) != (want != nil) {
			t.Errorf("call %d: %d, %v, want %v", i+1, id, err, want)
		}
	}
	if id, err := g.Next(); id != 3 || err != nil {
		t.Errorf("Next = %d, %v, want 3: failures take no ID", id, err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if id, err := g.NextContext(t.Context()); id != 0 || !errors.Is(err, uidringtest.ErrClosed) {
		t.Errorf("NextContext = %d, %v, want %v", id, err, uidringtest.ErrClosed)
	}
}

// byClock returns the first ID of a generator of package defaultgen whose clock begins at noon, and
// goes on for ten seconds.
func byClock(a assigner.Assigner, layout bitsalloc.Layout) (int64, error) {
	clock := uidringtest.NewClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	g, err := defaultgen.New(defaultgen.Config{Assigner: a, Now: clock.Now, Layout: layout})
	if err != nil {
		return 0, err
	}
	defer g.Close()
	id, err := g.Next()
	clock.Advance(10 * time.Second)
	_, later := g.Next()
	return id, errors.Join(err, later)
}

func TestWorkerStartsAnew(t *testing.T) {
	for worker, layout := range map[int64]bitsalloc.Layout{7: bitsalloc.Snowflake(), 0: {DeltaBits: 63, Unit: time.Millisecond}} {
		first, err1 := byClock(uidringtest.Worker(worker), layout)
		second, err2 := byClock(uidringtest.Worker(worker), layout)
		if err := errors.Join(err1, err2); err != nil || first != second {
			t.Errorf("%v: ID %d, then %d, %v", layout, first, second, err)
		}
	}
	// This is the reason for Worker: the process remembers how far a static worker ID was used.
	_, _ = byClock(assigner.Static(8), bitsalloc.Snowflake()) // fails, too, when the test runs again in this process
	if _, err := byClock(assigner.Static(8), bitsalloc.Snowflake()); !errors.Is(err, defaultgen.ErrClockBack) {
		t.Errorf("Static: %v, want %v", err, defaultgen.ErrClockBack)
	}
}
