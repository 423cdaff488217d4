package generator_test

import (
	"context"
	"errors"
	"testing"

	"github.com/uidring/uidring/internal/generator"
)

// A caller that has found no ID tries again before it waits: the block may have been put meanwhile.
func TestABlockPutJustBeforeTheWaitIsNotMissed(t *testing.T) {
	errEmpty, filled := errors.New("empty"), false
	one := func() (int64, bool) { return 1, filled }
	var p generator.SlowPath
	p = generator.SlowPath{
		Refill: func(context.Context) error { return errEmpty },
		Passing: func(err error) bool {
			if err != nil && !filled {
				filled = true
				p.Filled.Wake()
			}
			return err != nil
		},
		Rejected: func(err error) error { return err },
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if id, err := p.NextContext(ctx, one); id != 1 || err != nil {
		t.Errorf("NextContext = %d, %v, want the ID", id, err)
	}
}
