package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cached"
)

func TestErrorsAreDocumentedWhereTheyAreMet(t *testing.T) {
	taken := fmt.Errorf("%w: row 3 has been taken over", assigner.ErrWorkerRowLost)
	unreachable := fmt.Errorf("%w: cannot change row 3: broken pipe", sqlassigner.ErrUnreachable)
	for _, tt := range []struct {
		place      string
		err        error
		names      []string
		documented bool
	}{
		{inTake, cached.ErrLeaseExhausted, []string{"ErrLeaseExhausted"}, true},
		{inTake, fmt.Errorf("%w: %w", cached.ErrLeaseExhausted, unreachable), []string{"ErrLeaseExhausted", "ErrUnreachable"}, true},
		{inTake, unreachable, []string{"ErrUnreachable"}, false},
		{inTake, cached.ErrClosed, nil, false},
		{inLost, taken, []string{"ErrWorkerRowLost"}, true},
		{inLost, assigner.ErrFenceRegressed, []string{"ErrFenceRegressed"}, false},
		{inRenew, unreachable, []string{"ErrUnreachable"}, true},
		{inRenew, context.DeadlineExceeded, []string{"DeadlineExceeded"}, true},
		{inRenew, taken, []string{"ErrWorkerRowLost"}, false},
		{inRenew, errors.New("commands out of sync"), nil, false},
		{inNew, assigner.ErrWorkersExhausted, []string{"ErrWorkersExhausted"}, true},
		{inNew, assigner.ErrLayoutMismatch, nil, false},
		{inClose, unreachable, []string{"ErrUnreachable"}, true},
	} {
		names, documented := classify(tt.place, tt.err)
		if !slices.Equal(names, tt.names) || documented != tt.documented {
			t.Errorf("%s: %v: %q, %v; want %q, %v", tt.place, tt.err, names, documented, tt.names, tt.documented)
		}
	}
}
