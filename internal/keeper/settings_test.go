package keeper_test

import (
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/fakeassigner"
)

func TestTimeouts(t *testing.T) {
	for unit, start := range map[time.Duration]time.Duration{0: 30 * time.Second, time.Second: 30 * time.Second, time.Minute: 2 * time.Minute} {
		layout := bitsalloc.Default()
		layout.Unit = unit
		k, mistakes := keeper.New(keeper.Settings{Layout: layout, Assigner: &fakeassigner.Assigner{}})
		if err := mistakes.Err(); err != nil || k.AssignTimeout != 10*time.Second || k.StartTimeout != start {
			t.Errorf("unit %v: AssignTimeout %v and StartTimeout %v, want 10s and %v: %v", unit, k.AssignTimeout, k.StartTimeout, start, err)
		}
	}
	if _, mistakes := keeper.New(keeper.Settings{Assigner: &fakeassigner.Assigner{}, StartTimeout: time.Millisecond}); mistakes.Err() != nil {
		t.Errorf("StartTimeout of 1 ms: %v", mistakes.Err())
	}
	_, mistakes := keeper.New(keeper.Settings{Assigner: &fakeassigner.Assigner{}, StartTimeout: -1})
	if err := mistakes.Err(); err == nil || !strings.Contains(err.Error(), "StartTimeout -1ns, allowed: at least 1ms") {
		t.Errorf("StartTimeout of -1: %v", err)
	}
}
