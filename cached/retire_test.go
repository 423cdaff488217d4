package cached_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
)

// TestNoIDOfACallAfterClose spins a lane across Close.
func TestNoIDOfACallAfterClose(t *testing.T) {
	for _, bits := range []uint8{2, 13} {
		t.Run(fmt.Sprintf("blocks of %d", 1<<bits), func(t *testing.T) {
			layout := bitsalloc.Layout{DeltaBits: 28, WorkerBits: 22, SequenceBits: bits}
			for range scaled(1000) {
				spinAcrossClose(t, cached.Config{Layout: layout, BoostPower: 6, Assigner: &fakeassigner.Assigner{OnAssign: freshFar}, MaxStaleness: -1})
			}
		})
	}
}

func spinAcrossClose(t *testing.T, cfg cached.Config) {
	t.Helper()
	g := open(t, cfg)
	take := g.Lane().Next
	var closed atomic.Bool
	spinning, late := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for i := 0; ; i++ {
			if i == 100 {
				close(spinning)
			}
			after := closed.Load()
			if _, err := take(); err == nil && after {
				n++
			} else if after {
				break
			}
		}
		late <- n
	}()
	<-spinning
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	closed.Store(true)
	if n := <-late; n > 0 {
		t.Errorf("%d IDs of calls that began after Close", n)
	}
}
