package chaos

import (
	"context"
	"errors"
	"slices"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cached"
)

// Where a process has met an error.
const (
	inNew   = "new"   // by cached.New
	inTake  = "take"  // by Next, NextContext or Fill
	inRenew = "renew" // by Trace.RenewFailed
	inLost  = "lost"  // by Trace.LeaseLost
	inClose = "close" // by Close
)

// A sentinel is a documented error.
type sentinel struct {
	name  string
	error error
}

func sentinels() []sentinel {
	return []sentinel{
		{"ErrLeaseExhausted", cached.ErrLeaseExhausted},
		{"ErrEmpty", cached.ErrEmpty},
		{"ErrWorkerRowLost", assigner.ErrWorkerRowLost},
		{"ErrFenceRegressed", assigner.ErrFenceRegressed},
		{"ErrWorkerRowMissing", assigner.ErrWorkerRowMissing},
		{"ErrNamespaceRecreated", assigner.ErrNamespaceRecreated},
		{"ErrWorkersExhausted", assigner.ErrWorkersExhausted},
		{"ErrWorkerInUse", assigner.ErrWorkerInUse},
		{"ErrWorkerAheadOfClock", assigner.ErrWorkerAheadOfClock},
		{"ErrClockSkew", assigner.ErrClockSkew},
		{"ErrUnreachable", sqlassigner.ErrUnreachable},
		{"DeadlineExceeded", context.DeadlineExceeded},
	}
}

// expected are the errors of which one has to be in every error that is met at a place.
func expected(place string) []error {
	switch place {
	case inTake:
		return []error{cached.ErrLeaseExhausted, cached.ErrEmpty}
	case inLost:
		return []error{assigner.ErrWorkerRowLost}
	default: // a call to the store has failed
		return []error{assigner.ErrWorkersExhausted, assigner.ErrWorkerInUse, assigner.ErrWorkerAheadOfClock, assigner.ErrClockSkew,
			sqlassigner.ErrUnreachable, context.DeadlineExceeded}
	}
}

// classify returns the names of the documented errors that err matches, and whether the place may
// return err.
func classify(place string, err error) (names []string, documented bool) {
	for _, s := range sentinels() {
		if errors.Is(err, s.error) {
			names = append(names, s.name)
		}
	}
	return names, slices.ContainsFunc(expected(place), func(want error) bool { return errors.Is(err, want) })
}
