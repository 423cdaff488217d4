package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// errMiscount says that the books of the generator and the bitmap differ.
var errMiscount = errors.New("miscount")

// A soakRow is what one mode has shown.
type soakRow struct {
	Mode       string  `json:"mode"`
	Summary    string  `json:"summary"`
	Goroutines int     `json:"goroutines"`
	Layout     string  `json:"layout"`
	IDs        int64   `json:"ids"`       // taken
	Different  int64   `json:"different"` // of them, counted in the bitmap
	Seconds    float64 `json:"seconds"`
	NsPerID    float64 `json:"nsPerID"` // wall time, checking included
	Bitmap     int64   `json:"bitmapBytes"`
	ledger
}

// settle compares the IDs that were taken with those that the bitmap has and those that the generator knows of.
func (r soakRow) settle() error {
	switch accounted := r.Issued + r.Retired + r.Remaining; {
	case r.Different != r.IDs:
		return fmt.Errorf("%w: %d IDs taken, %d different ones counted", errMiscount, r.IDs, r.Different)
	case r.Put == 0: // it keeps no books
		return nil
	case r.Issued != r.IDs:
		return fmt.Errorf("%w: %d IDs taken, %d issued by the generator", errMiscount, r.IDs, r.Issued)
	case r.Put != accounted:
		return fmt.Errorf("%w: %d IDs put, but %d issued, %d retired and %d remaining make %d",
			errMiscount, r.Put, r.Issued, r.Retired, r.Remaining, accounted)
	}
	return nil
}

// A soaking is a mode under way.
type soaking struct {
	mode   soakMode
	target int64
	taken  atomic.Int64
}

// run takes IDs until there are enough, and counts every one. The first ID that was there before, that is out of order
// or not of the generator's worker ends it.
func (s *soaking) run(ctx context.Context, worker int64) (row soakRow, err error) {
	sub, err := s.mode.open(worker)
	if err != nil {
		return row, err
	}
	count, wall, err := s.takeAll(ctx, sub)
	books, closeErr := sub.close()
	if err := errors.Join(err, closeErr); err != nil {
		return row, err
	}
	row = soakRow{
		Mode:       s.mode.name,
		Summary:    s.mode.summary,
		Goroutines: s.mode.goroutines,
		Layout:     sub.alloc.Layout().String(),
		IDs:        s.taken.Load(),
		Seconds:    wall.Seconds(),
		NsPerID:    float64(wall.Nanoseconds()) / float64(s.taken.Load()),
		ledger:     books,
	}
	row.Different, row.Bitmap = count.totals()
	return row, row.settle()
}

func (s *soaking) takeAll(ctx context.Context, sub *subject) (*checker, time.Duration, error) {
	id, err := sub.first()
	if err != nil {
		return nil, 0, err
	}
	first, err := sub.alloc.Parse(id)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errOutside, err)
	}
	c := newChecker(sub.alloc, first, sub.holder)
	if err := c.stream(0).record([]int64{id}); err != nil {
		return nil, 0, err
	}
	s.taken.Store(1)
	wall, err := race(ctx, s.mode.goroutines, 0, func(_ context.Context, i int, stop *atomic.Bool) error {
		t := sub.consumer(i)
		if t.end != nil {
			defer t.end()
		}
		stream := c.stream(i)
		stream.unordered = s.mode.unordered
		if !stream.unordered {
			stream.last = id
		}
		return s.follow(t, stream, stop)
	})
	return c, wall, err
}

// follow is one goroutine of the mode.
func (s *soaking) follow(t consumer, stream *stream, stop *atomic.Bool) error {
	for !stop.Load() {
		n, err := t.take(stream)
		if err != nil {
			return err
		}
		if s.taken.Add(int64(n)) >= s.target {
			stop.Store(true)
		}
	}
	return nil
}
