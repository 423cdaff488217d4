package ringbuffer_test

import "testing"

func TestNothingOnThePathOfAnIDAllocates(t *testing.T) {
	r := newRing(t, 2, 13)
	next := int64(1 << 13)
	fill := func() {
		for r.Put(next) {
			next += 1 << 13
		}
	}
	dst := make([]int64, 256)
	for name, call := range map[string]func(){
		"Take":    func() { r.Take() },
		"TakeN":   func() { r.TakeN(dst) },
		"TakeRun": func() { r.TakeRun() },
		"Put":     fill,
		"Retire":  func() { r.Retire(next - 1<<13) },
		"Len":     func() { r.Len() },
		"Counts":  func() { r.Counts() },
	} {
		if n := testing.AllocsPerRun(100, func() { fill(); call() }); n != 0 {
			t.Errorf("%s allocates %.0f times", name, n)
		}
	}
}
