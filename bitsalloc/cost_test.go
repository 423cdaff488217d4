package bitsalloc_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// The sinks keep the compiler from dropping the measured code.
var (
	idSink     int64
	fieldsSink bitsalloc.Fields
	errSink    error
)

func TestAllocateAndParseAllocateNoMemory(t *testing.T) {
	for _, l := range []bitsalloc.Layout{
		bitsalloc.Default(), bitsalloc.Recommended(), bitsalloc.Baidu(), bitsalloc.Snowflake(), bitsalloc.JavaScript(), layout(63, 0, 0, 0),
	} {
		a := mustNew(t, l, time.Time{})
		id, err := a.Allocate(a.MaxDelta(), a.MaxDatacenterID(), a.MaxWorkerID(), a.MaxSequence())
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(1000, func() {
			idSink, errSink = a.Allocate(a.MaxDelta(), a.MaxDatacenterID(), a.MaxWorkerID(), a.MaxSequence())
		}); n != 0 || errSink != nil {
			t.Errorf("%v: Allocate makes %v allocations, error %v", l, n, errSink)
		}
		if n := testing.AllocsPerRun(1000, func() { fieldsSink, errSink = a.Parse(id) }); n != 0 || errSink != nil {
			t.Errorf("%v: Parse makes %v allocations, error %v", l, n, errSink)
		}
	}
}
