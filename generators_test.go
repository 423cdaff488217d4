package uidring_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/client"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uidringtest"
)

// The methods of all generators and of package client, and the methods that some of them have.
type generator interface {
	Next() (int64, error)
	NextContext(ctx context.Context) (int64, error)
	Fill(dst []int64) (int, error)
	FillContext(ctx context.Context, dst []int64) (int, error)
	Close() error
}
type reserver interface {
	generator
	Reserve(n int) (first int64, got int, err error)
	ReserveContext(ctx context.Context, n int) (first int64, got int, err error)
}
type stating[Stats any] interface {
	reserver
	Invalidate()
	Stats() Stats
}
type holder[Stats any] interface {
	stating[Stats]
	Parse(id int64) (bitsalloc.Fields, error)
	WorkerID() int64
}
type validated interface{ Validate() error }

var (
	_ holder[cached.Stats]     = (*cached.Generator)(nil)
	_ holder[defaultgen.Stats] = (*defaultgen.Generator)(nil)
	_ stating[segment.Stats]   = (*segment.Generator)(nil)
	_ reserver                 = (*uidringtest.Generator)(nil)
	_ generator                = (*client.Client)(nil)
	_                          = []validated{cached.Config{}, defaultgen.Config{}, segment.Config{}, segment.NumbersConfig{}, client.Config{}}
)

type later time.Duration

func (l later) Error() string             { return "later" }
func (l later) RetryAfter() time.Duration { return time.Duration(l) }

func TestRetryAfterTellsWhichErrorsPass(t *testing.T) {
	for _, row := range []struct {
		err    error
		after  time.Duration
		passes bool
	}{
		{nil, 0, false},
		{uidring.ErrClosed, 0, false},
		{uidring.ErrTimeExhausted, 0, false},
		{uidring.ErrInvalidConfig, 0, false},
		{segment.ErrExhausted, 0, false},
		{assigner.ErrWorkerInUse, 0, false},
		{fmt.Errorf("%w: %w", segment.ErrEmpty, segment.ErrWentBack), time.Second, true}, // another source goes on
		{cached.ErrTooFarAhead, time.Second, true},
		{defaultgen.ErrSequenceExhausted, time.Second, true},
		{defaultgen.ErrClockBack, time.Second, true},
		{fmt.Errorf("no ID: %w", cached.ErrLeaseExhausted), time.Second, true},
		{errors.Join(cached.ErrEmpty, later(3)), 3, true},
		{later(time.Hour), time.Hour, true},
	} {
		if after, passes := uidring.RetryAfter(row.err); after != row.after || passes != row.passes {
			t.Errorf("%v: again after %v, %t, want %v, %t", row.err, after, passes, row.after, row.passes)
		}
	}
}

func TestPackagesShareTheirErrors(t *testing.T) {
	for want, all := range map[error][]error{
		uidring.ErrClosed:         {cached.ErrClosed, defaultgen.ErrClosed, segment.ErrClosed, client.ErrClosed, uidringtest.ErrClosed},
		uidring.ErrEmpty:          {cached.ErrEmpty, segment.ErrEmpty, client.ErrEmpty},
		uidring.ErrInvalidConfig:  {cached.ErrInvalidConfig, defaultgen.ErrInvalidConfig, segment.ErrInvalidConfig, client.ErrInvalidConfig},
		uidring.ErrLeaseExhausted: {cached.ErrLeaseExhausted, defaultgen.ErrLeaseExhausted},
		uidring.ErrTimeExhausted:  {cached.ErrTimeExhausted, defaultgen.ErrTimeExhausted},
	} {
		if slices.ContainsFunc(all, func(err error) bool { return err != want }) {
			t.Errorf("%v: %v", want, all)
		}
	}
}
