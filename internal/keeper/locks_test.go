package keeper

import (
	"testing"

	"github.com/uidring/uidring/internal/testkit/together"
)

// The methods of a row run at the same time; the race detector sees a lock that is missing.
func TestMethodsLock(t *testing.T) {
	var k Keeper
	invalidate := func() {
		k.ending.Lock()
		defer k.ending.Unlock()
		k.invalidated++
	}
	for name, row := range map[string][2]func(){
		"forget":  {k.forget, func() { k.requested() }},
		"publish": {func() { k.publish(new(Grant), 0) }, invalidate},
		"held":    {func() { k.held() }, invalidate},
	} {
		t.Run(name, func(*testing.T) { together.Run(2, func(i int) { row[i]() }) })
	}
}
