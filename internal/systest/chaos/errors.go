package chaos

import (
	"context"
	"errors"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cached"
)

// Where a process has met an error.
const (
	inNew   = "error of New"
	inTake  = "error of Next, NextContext or Fill"
	inRenew = "failed renewal"
	inLost  = "lost lease"
	inClose = "error of Close"
)

// classify returns the name of the documented error that err matches at a place, or "".
func classify(place string, err error) string {
	type sentinel struct {
		name  string
		error error
	}
	allowed := []sentinel{ // a call to the store has failed
		{"ErrWorkersExhausted", assigner.ErrWorkersExhausted},
		{"ErrWorkerInUse", assigner.ErrWorkerInUse},
		{"ErrWorkerAheadOfClock", assigner.ErrWorkerAheadOfClock},
		{"ErrClockSkew", assigner.ErrClockSkew},
		{"ErrUnreachable", sqlassigner.ErrUnreachable},
		{"DeadlineExceeded", context.DeadlineExceeded},
	}
	switch place {
	case inTake:
		allowed = []sentinel{{"ErrLeaseExhausted", cached.ErrLeaseExhausted}, {"ErrEmpty", cached.ErrEmpty}}
	case inLost:
		allowed = []sentinel{{"ErrWorkerRowLost", assigner.ErrWorkerRowLost}}
	}
	for _, s := range allowed {
		if errors.Is(err, s.error) {
			return s.name
		}
	}
	return ""
}
