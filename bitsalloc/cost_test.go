package bitsalloc_test

import (
	"os/exec"
	"strings"
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
		bitsalloc.Default(), bitsalloc.Leased(), bitsalloc.Baidu(), bitsalloc.Snowflake(), bitsalloc.JavaScript(), layout(63, 0, 0, 0),
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

func TestInnerPartsInline(t *testing.T) {
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("the go tool is not on PATH: ", err)
	}
	report, err := exec.CommandContext(t.Context(), tool, "build", "-gcflags=-m", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, report)
	}
	for _, method := range []string{"pack", "Time"} { // each has a single caller
		if !strings.Contains(string(report), "inlining call to (*Allocator)."+method+"\n") {
			t.Errorf("the compiler no longer inlines %s", method)
		}
	}
}

func BenchmarkAllocate(b *testing.B) {
	a := mustNew(b, bitsalloc.Default(), time.Time{})
	sequence := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		idSink, errSink = a.Allocate(123456789, 4, 9, sequence&8191)
		sequence++
	}
}

// BenchmarkAllocateBaseline packs without checks, with shifts that are known when compiling.
func BenchmarkAllocateBaseline(b *testing.B) {
	sequence := int64(0)
	b.ReportAllocs()
	for b.Loop() {
		idSink, errSink = packUnchecked(123456789, 4, 9, sequence&8191)
		sequence++
	}
}

//go:noinline
func packUnchecked(delta, datacenter, worker, sequence int64) (int64, error) {
	return delta<<35 | datacenter<<30 | worker<<13 | sequence, nil
}

func BenchmarkParse(b *testing.B) {
	a := mustNew(b, bitsalloc.Default(), time.Time{})
	id := int64(4241942974088421383)
	b.ReportAllocs()
	for b.Loop() {
		fieldsSink, errSink = a.Parse(id)
	}
}

// BenchmarkParseBaseline unpacks without checks, with shifts that are known when compiling.
func BenchmarkParseBaseline(b *testing.B) {
	id := int64(4241942974088421383)
	b.ReportAllocs()
	for b.Loop() {
		fieldsSink, errSink = parseUnchecked(id)
	}
}

//go:noinline
func parseUnchecked(id int64) (bitsalloc.Fields, error) {
	return bitsalloc.Fields{
		ID: id, Delta: id >> 35, DatacenterID: id >> 30 & 31, WorkerID: id >> 13 & 131071, Sequence: id & 8191,
		Time: time.Unix(1767225600+id>>35, 0).UTC(),
	}, nil
}
