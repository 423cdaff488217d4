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

// all takes IDs by Next until an error, at most n.
func all(g *uidringtest.Generator, n int) (ids []int64, err error) {
	for range n {
		id, err := g.Next()
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func TestSequences(t *testing.T) {
	const most = math.MaxInt64
	for _, row := range []struct {
		first, step int64
		want        []int64
		end         bool // the sequence ends after want
	}{
		{1, 1, []int64{1, 2, 3, 4}, false},
		{100, 10, []int64{100, 110, 120, 130}, false},
		{7, 0, []int64{7, 7, 7, 7}, false},
		{5, -2, []int64{5, 3, 1}, true},
		{most - 1, 1, []int64{most - 1, most}, true},
		{most, most, []int64{most}, true},
		{1, math.MinInt64, []int64{1}, true},
		{0, 1, nil, true},
		{-1, 1, nil, true},
	} {
		got, err := all(uidringtest.New(row.first, row.step), 4)
		if !slices.Equal(got, row.want) || errors.Is(err, uidringtest.ErrExhausted) != row.end {
			t.Errorf("New(%d, %d): %d, %v, want %d, then an end: %t", row.first, row.step, got, err, row.want, row.end)
		}
		dst := make([]int64, 4)
		n, err := uidringtest.New(row.first, row.step).Fill(dst)
		if !slices.Equal(dst[:n], row.want) || errors.Is(err, uidringtest.ErrExhausted) != row.end {
			t.Errorf("New(%d, %d): Fill gives %d, %v, want %d", row.first, row.step, dst[:n], err, row.want)
		}
	}
}

func TestAllMethodsIssueOneSequence(t *testing.T) {
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

func TestFailures(t *testing.T) {
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
