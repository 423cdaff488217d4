package scripts

import (
	"context"
	"time"

	"github.com/uidring/uidring/internal/test/testkit"
)

// A Generator issues IDs.
type Generator interface {
	Next() (int64, error)
	NextContext(ctx context.Context) (int64, error)
	Fill(dst []int64) (int, error)
	FillContext(ctx context.Context, dst []int64) (int, error)
	Reserve(n int) (first int64, got int, err error)
	ReserveContext(ctx context.Context, n int) (first int64, got int, err error)
	Invalidate()
	Close() error
}

// A lane is named by a script.
type lane struct {
	Generator
	name string
}

// Take takes IDs by one of these commands. With an error it returns the IDs before that.
//
//	take 20, fill 5, reserve 3      Next, Fill and Reserve
//	take 20 l                       Next of a lane, which newLane makes for its first use
//	wait 1m, wait 1m fill 5, wait 1m reserve 3    NextContext, FillContext and ReserveContext within a time
func (s *Story) Take(g Generator, newLane func() func() (int64, error), words testkit.Words) (ids []int64, err error) {
	ctx, fill, reserve := s.T.Context(), g.FillContext, g.ReserveContext
	switch name := words.Arg(2); words.Arg(0) {
	case "take":
		next := g.Next
		if name != "" {
			next = s.lane(lane{g, name}, newLane)
		}
		for range words.Number(1) {
			id, err := next()
			if ids = s.issued(ids, id, 1, err); err != nil {
				return ids, err
			}
			time.Sleep(s.pause)
		}
		return ids, nil
	case "wait":
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, words.Duration(1))
		defer cancel()
		if words = words[2:]; name == "" {
			id, err := g.NextContext(ctx)
			return s.issued(nil, id, 1, err), err
		}
	default:
		fill = func(_ context.Context, dst []int64) (int, error) { return g.Fill(dst) }
		reserve = func(_ context.Context, n int) (int64, int, error) { return g.Reserve(n) }
	}
	if words.Arg(0) == "fill" {
		ids = make([]int64, words.Number(1))
		n, err := fill(ctx, ids)
		return ids[:n], err
	}
	first, n, err := reserve(ctx, int(words.Number(1)))
	return s.issued(nil, first, n, err), err
}

// lane returns Next of a lane.
func (s *Story) lane(l lane, newLane func() func() (int64, error)) func() (int64, error) {
	next, ok := s.lanes[l]
	if !ok {
		next = newLane()
		s.lanes[l] = next
	}
	return next
}

// issued adds the n IDs from first on to ids. Beside an error there is none.
func (s *Story) issued(ids []int64, first int64, n int, err error) []int64 {
	if err != nil {
		n = 0
	}
	if n == 0 && first != 0 {
		s.T.Errorf("ID %d, %v, want 0", first, err)
	}
	for i := range int64(n) {
		ids = append(ids, first+i)
	}
	return ids
}
