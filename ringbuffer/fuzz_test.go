package ringbuffer_test

import (
	"math"
	"slices"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

// A model is what a ring has to do when one goroutine uses it: lists of IDs, and everything counted as it happens.
type model struct {
	places   [][]int64 // what is left of the run in each slot
	runs     []int64   // the first ID of that run
	cursor   int
	tail     int
	counts   ringbuffer.Counts
	handover []int
}

func (m *model) size() int { return len(m.places) }

func (m *model) put(first, runSize int64) bool {
	if m.tail-m.cursor == m.size() {
		return false
	}
	place := m.tail % m.size()
	m.places[place] = nil
	for i := range runSize {
		m.places[place] = append(m.places[place], first+i)
	}
	m.runs[place] = first
	m.counts.Put += uint64(runSize)
	m.tail++
	return true
}

// skip hands over what is used up, as every take does before it takes.
func (m *model) skip(runSize int) (place int, ok bool) {
	for m.cursor != m.tail {
		if place := m.cursor % m.size(); len(m.places[place]) > 0 {
			return place, true
		}
		m.cursor++
		m.handover = append(m.handover, (m.tail-m.cursor)*runSize)
	}
	return 0, false
}

// take takes up to n IDs of the oldest run.
func (m *model) take(n, runSize int) []int64 {
	place, ok := m.skip(runSize)
	if !ok {
		return nil
	}
	n = min(n, len(m.places[place]))
	ids := m.places[place][:n]
	m.places[place] = m.places[place][n:]
	m.counts.Issued += uint64(n)
	return ids
}

func (m *model) retire(before int64) int {
	n := 0
	for ; m.cursor != m.tail && m.runs[m.cursor%m.size()] < before; m.cursor++ {
		place := m.cursor % m.size()
		n += len(m.places[place])
		m.places[place] = nil
	}
	m.counts.Retired += uint64(n)
	return n
}

func (m *model) left() int {
	n := 0
	for i := m.cursor; i != m.tail; i++ {
		n += len(m.places[i%m.size()])
	}
	return n
}

// resume ends a take that was held up when cursor was index and the slot held the run that begins at first.
func (m *model) resume(index int, first int64, runSize int) (id int64, ok bool) {
	place := index % m.size()
	if len(m.places[place]) == 0 {
		if m.cursor == index {
			m.cursor++
			m.handover = append(m.handover, (m.tail-m.cursor)*runSize)
		}
		return 0, false
	}
	id = m.places[place][0]
	m.places[place] = m.places[place][1:]
	if m.runs[place] != first {
		m.counts.Dropped++
		return 0, false
	}
	m.counts.Issued++
	return id, true
}

// A held take is one that the ring and the model have both begun.
type held struct {
	take  ringbuffer.StalledTake
	index int
	first int64
}

// A pair is a ring and its model, and what the steps so far have shown.
type pair struct {
	t        *testing.T
	r        *ringbuffer.Ring
	m        *model
	runBits  uint8
	next     int64 // to put
	handover []int
	held     []held
}

func newPair(t *testing.T, setting byte) *pair {
	slots, start := 2<<(setting&1), uint64(0)
	if setting&2 != 0 {
		start = math.MaxUint64 - 4
	}
	p := &pair{t: t, runBits: setting >> 2 & 3}
	p.next = 1 << p.runBits
	if setting&16 != 0 {
		p.next = math.MaxInt64>>p.runBits - 60
		p.next <<= p.runBits
	}
	r, err := ringbuffer.New(slots, p.runBits, func(left int) { p.handover = append(p.handover, left) })
	if err != nil {
		t.Fatal(err)
	}
	r.StartAt(start)
	p.r = r
	p.m = &model{places: make([][]int64, slots), runs: make([]int64, slots)}
	return p
}

// step does the same to both and compares what it returns.
func (p *pair) step(op byte) {
	runSize, arg := 1<<p.runBits, int(op>>3)
	switch op & 7 {
	case 0, 1:
		p.put(arg)
	case 2:
		id, ok := p.r.Take()
		p.same("Take", list(id, ok), p.m.take(1, runSize))
	case 3:
		p.takeN(arg)
	case 4:
		first, n, ok := p.r.TakeRun()
		got := list(first, ok)
		for len(got) < n {
			got = append(got, first+int64(len(got)))
		}
		p.same("TakeRun", got, p.m.take(runSize, runSize))
	case 5:
		before := p.next - int64(arg)
		if arg == 31 {
			before = math.MaxInt64
		}
		if got, want := p.r.Retire(before), p.m.retire(before); got != want {
			p.t.Fatalf("Retire(%d) = %d, want %d", before, got, want)
		}
	case 6:
		if take, ok := p.r.StallTake(); ok {
			p.held = append(p.held, held{take, p.m.cursor, p.m.runs[p.m.cursor%p.m.size()]})
		}
	case 7:
		if len(p.held) == 0 {
			return
		}
		h := p.held[arg%len(p.held)]
		p.held = slices.Delete(p.held, arg%len(p.held), arg%len(p.held)+1)
		id, ok := h.take.Resume()
		wantID, wantOK := p.m.resume(h.index, h.first, runSize)
		p.same("Resume", list(id, ok), list(wantID, wantOK))
	}
}

func (p *pair) put(arg int) {
	if p.next <= 0 {
		return // the last run of the layout has been put
	}
	if arg >= 28 && p.next+int64(1)<<p.runBits > 0 {
		p.next += 1 << p.runBits // a run number is left out
	}
	got, want := p.r.Put(p.next), p.m.put(p.next, 1<<p.runBits)
	if got != want {
		p.t.Fatalf("Put(%d) = %t, want %t", p.next, got, want)
	}
	if got {
		p.next += 1 << p.runBits // negative after the last
	}
}

func (p *pair) takeN(n int) {
	dst := make([]int64, n)
	got := dst[:p.r.TakeN(dst)]
	var want []int64
	for len(want) < n {
		ids := p.m.take(n-len(want), 1<<p.runBits)
		if len(ids) == 0 {
			break
		}
		want = append(want, ids...)
	}
	p.same("TakeN", got, want)
}

func list(id int64, ok bool) []int64 {
	if !ok {
		return nil
	}
	return []int64{id}
}

func (p *pair) same(name string, got, want []int64) {
	if !slices.Equal(got, want) {
		p.t.Fatalf("%s gave %v, want %v", name, got, want)
	}
}

// compare compares what can be seen between two steps.
func (p *pair) compare() {
	p.m.counts.Remaining = uint64(p.m.left())
	if got := p.r.Counts(); got != p.m.counts {
		p.t.Fatalf("Counts() = %+v, want %+v", got, p.m.counts)
	}
	if got, want := p.r.Len(), p.m.left(); got != want {
		p.t.Fatalf("Len() = %d, want %d", got, want)
	}
	if got, want := p.r.Free(), p.m.size()-(p.m.tail-p.m.cursor); got != want {
		p.t.Fatalf("Free() = %d, want %d", got, want)
	}
	if !slices.Equal(p.handover, p.m.handover) {
		p.t.Fatalf("hand-overs %v, want %v", p.handover, p.m.handover)
	}
}

// FuzzModel reads a setting and a list of steps from a byte string.
func FuzzModel(f *testing.F) {
	const put, putGap, take, takeRun, hold, resume = 0, 31 << 3, 2, 4, 6, 7
	takeN := func(n byte) byte { return n<<3 | 3 }
	retire := func(back byte) byte { return back<<3 | 5 }
	f.Add([]byte{0, put, take, take, put, put, put, take, take, take})
	f.Add([]byte{4, put, putGap, takeN(0), takeN(1), takeN(3), take})
	f.Add([]byte{10, put, put, put, takeRun, take, takeRun, retire(2), put, retire(31), take})
	f.Add([]byte{8, put, put, hold, hold, takeN(5), put, resume, resume, takeN(8), take})
	f.Add([]byte{28, put, put, take, retire(9), put, takeRun, takeN(31), put, put})
	long := []byte{18}
	for i := range byte(200) {
		long = append(long, put, put, take, takeN(i%4))
	}
	f.Add(long)
	f.Fuzz(func(t *testing.T, steps []byte) {
		if len(steps) == 0 || len(steps) > 1000 {
			return
		}
		p := newPair(t, steps[0])
		for _, op := range steps[1:] {
			p.step(op)
			p.compare()
		}
	})
}
