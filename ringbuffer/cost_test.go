package ringbuffer_test

import (
	"testing"
	"unsafe"

	"github.com/uidring/uidring/ringbuffer"
)

func TestPutAllocatesABlockAndNothingElseAllocates(t *testing.T) {
	const size = 1 << 13
	r := newRing(t, 2)
	next := int64(1)
	fill := func() {
		for r.Free() > 0 {
			r.Put(next, next+size-1)
			next += size
		}
	}
	for name, call := range map[string]func(){
		"Take":      func() { r.Take() },
		"TakeBlock": func() { r.TakeBlock(256) },
		"Retire":    func() { r.Retire(next - size) },
		"Len":       func() { r.Len() },
		"Counts":    func() { r.Counts() },
	} {
		fill()
		if n := testing.AllocsPerRun(10, call); n != 0 {
			t.Errorf("%s allocates %.0f times", name, n)
		}
	}
	fill()
	if n := testing.AllocsPerRun(100, func() { r.TakeBlock(size); r.Take(); fill() }); n != 1 {
		t.Errorf("Put allocates %.0f times, want once", n)
	}
}

// The allocator aligns objects of two cache lines to two cache lines.
func TestABlockIsTwoCacheLines(t *testing.T) {
	if size := unsafe.Sizeof(ringbuffer.Block{}); size != 128 {
		t.Errorf("a block takes %d bytes, want 128", size)
	}
}
