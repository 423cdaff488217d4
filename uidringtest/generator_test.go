package uidringtest_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/uidring/uidring"
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
	ended, end := context.WithCancel(t.Context())
	end()
	g := uidringtest.New(1, 1)
	var got []int64
	one := func(id int64, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		got = append(got, id)
	}
	text := func(id uidring.ID, err error) { one(int64(id), err) }
	one(g.Next())
	one(g.NextContext(ended))
	text(g.NextID())
	text(g.NextIDContext(ended))
	dst := make([]int64, 2)
	if n, err := g.Fill(dst); n != 2 || err != nil {
		t.Errorf("Fill = %d, %v", n, err)
	}
	got = append(got, dst...)
	first, n, err := g.Reserve(3)
	if n != 3 || err != nil {
		t.Errorf("Reserve = %d, %d, %v", first, n, err)
	}
	got = append(got, first)
	one(g.Next())
	if want := []int64{1, 2, 3, 4, 5, 6, 7, 10}; !slices.Equal(got, want) {
		t.Errorf("IDs %d, want %d", got, want)
	}
	if first, n, err := uidringtest.New(1, 2).Reserve(3); first != 1 || n != 1 || err != nil {
		t.Errorf("Reserve with a step of 2 = %d, %d, %v, want one ID", first, n, err)
	}
}

func TestFailAndBreakFailCalls(t *testing.T) {
	weather, storm := errors.New("weather"), errors.New("storm")
	g := uidringtest.New(1, 1)
	g.Fail(nil, weather)
	g.Fail(storm)
	for i, want := range []error{nil, weather, storm, nil} {
		if id, err := g.Next(); !errors.Is(err, want) || (id == 0) != (want != nil) {
			t.Errorf("call %d: %d, %v, want %v", i+1, id, err, want)
		}
	}
	g.Break(storm)
	g.Fail(weather)
	if n, err := g.Fill(make([]int64, 2)); n != 0 || !errors.Is(err, storm) {
		t.Errorf("Fill = %d, %v, want %v", n, err, storm)
	}
	if _, n, err := g.Reserve(2); n != 0 || !errors.Is(err, storm) {
		t.Errorf("Reserve = %d, %v, want %v", n, err, storm)
	}
	g.Break(nil)
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
