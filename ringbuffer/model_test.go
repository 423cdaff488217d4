package ringbuffer_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/ringbuffer"
)

// A model behaves like a ring that one goroutine uses: it keeps lists of IDs, and counts every
// event.
type model struct {
	slots    int
	blocks   [][]int64 // the IDs left of each block since New
	current  int       // index into blocks; -1 before the first take
	counts   ringbuffer.Counts
	handover []int
}

// used returns the number of blocks that have IDs.
func (m *model) used() (n int) {
	for _, b := range m.blocks {
		if len(b) > 0 {
			n++
		}
	}
	return n
}

func (m *model) put(first, last int64) bool {
	if m.used() == m.slots {
		return false
	}
	var ids []int64
	for i := range last - first + 1 {
		ids = append(ids, first+i)
	}
	m.blocks = append(m.blocks, ids)
	m.counts.Put += uint64(len(ids))
	return true
}

// skip goes on to the oldest block that has IDs, as every take does before it takes.
func (m *model) skip() bool {
	for m.current < 0 || len(m.blocks[m.current]) == 0 {
		if m.current+1 == len(m.blocks) {
			return false
		}
		m.current++
		m.handover = append(m.handover, len(m.blocks)-m.current)
	}
	return true
}

// take takes up to n IDs of the oldest block.
func (m *model) take(n int) []int64 {
	if n < 1 || !m.skip() {
		return nil
	}
	return m.takeFrom(m.current, n)
}

// takeFrom takes up to n IDs of a block.
func (m *model) takeFrom(block, n int) []int64 {
	if block < 0 {
		return nil
	}
	b := m.blocks[block]
	n = min(n, len(b))
	m.blocks[block] = b[n:]
	m.counts.Issued += uint64(n)
	return b[:n]
}

func (m *model) retire(last int64) (n int) {
	for m.skip() && m.blocks[m.current][0] <= last {
		m.blocks[m.current] = m.blocks[m.current][1:]
		n++
	}
	m.counts.Retired += uint64(n)
	return n
}

func (m *model) left() (n int) {
	for _, b := range m.blocks {
		n += len(b)
	}
	return n
}

// A held take has loaded the current block, the ring's and the model's.
type held struct {
	block *ringbuffer.Block
	index int
}

// A pair is a ring and its model, with the results of the steps so far.
type pair struct {
	t        *testing.T
	r        *ringbuffer.Ring
	m        *model
	next     int64 // to put
	handover []int
	held     []held
}

func newPair(t *testing.T, setting byte) *pair {
	slots, start := 2<<(setting&1), uint64(0)
	if setting&2 != 0 {
		start = math.MaxUint64 - 4
	}
	p := &pair{t: t, next: 1}
	if setting&4 != 0 {
		p.next = math.MaxInt64 - 60
	}
	r, err := ringbuffer.New(slots, func(left int) { p.handover = append(p.handover, left) })
	testkit.Must(t, err)
	r.StartAt(start)
	p.r = r
	p.m = &model{slots: slots, current: -1}
	return p
}

// step does the same to both and compares the results.
func (p *pair) step(op byte) {
	arg := int(op >> 3)
	switch op & 7 {
	case 0:
		p.put(arg)
	case 1:
		if arg%2 == 1 {
			if got, want := p.r.Empty(), !p.m.skip(); got != want {
				p.t.Fatalf("Empty() = %t, want %t", got, want)
			}
			return
		}
		want := int64(0)
		if p.m.skip() {
			want = p.m.blocks[p.m.current][0]
		}
		if got := p.r.Peek(); got != want {
			p.t.Fatalf("Peek() = %d, want %d", got, want)
		}
	case 2:
		id, ok := p.r.Take()
		p.same("Take", list(id, 1, ok), p.m.take(1))
	case 3, 4:
		most := arg + 1
		if op&7 == 3 {
			most = arg - 8 // or nothing
		}
		first, n, ok := p.r.TakeBlock(most)
		p.same("TakeBlock", list(first, n, ok), p.m.take(most))
		if ok != (n > 0) || !ok && first != 0 {
			p.t.Fatalf("TakeBlock(%d) = %d, %d, %t", most, first, n, ok)
		}
	case 5:
		last := p.next - int64(arg)
		if arg == 31 {
			last = math.MaxInt64
		}
		if got, want := p.r.Retire(last), p.m.retire(last); got != want {
			p.t.Fatalf("Retire(%d) = %d, want %d", last, got, want)
		}
	case 6:
		p.held = append(p.held, held{p.r.Current(), p.m.current})
	case 7:
		if len(p.held) == 0 {
			return
		}
		h := p.held[arg%len(p.held)]
		p.held = slices.Delete(p.held, arg%len(p.held), arg%len(p.held)+1)
		rest := h.block.TakeFrom
		if arg&4 != 0 {
			rest = h.block.AddTo // as if the take had found IDs before it was held up
		}
		if n := arg / 8; n > 0 {
			first, got := rest(n)
			p.same("a held TakeBlock", list(first, got, true), p.m.takeFrom(h.index, n))
			return
		}
		id, ok := h.block.Take()
		p.same("a held Take", list(id, 1, ok), p.m.takeFrom(h.index, 1))
	}
}

// put puts a block of 1 to 7 IDs, right above the one before or with a gap.
func (p *pair) put(arg int) {
	length, gap := int64(arg%8), int64(arg/8)
	if p.next <= 0 || p.next+gap+length <= 0 {
		return // the last ID is put, or would be passed
	}
	first, last := p.next+gap, p.next+gap+length
	got, want := p.r.Put(first, last), p.m.put(first, last)
	if got != want {
		p.t.Fatalf("Put(%d, %d) = %t, want %t", first, last, got, want)
	}
	if got {
		p.next = last + 1 // negative after the last ID
	}
}

func list(first int64, n int, ok bool) (ids []int64) {
	if ok {
		for i := range int64(n) {
			ids = append(ids, first+i)
		}
	}
	return ids
}

func (p *pair) same(name string, got, want []int64) {
	if !slices.Equal(got, want) {
		p.t.Fatalf("%s gave %v, want %v", name, got, want)
	}
}

// compare compares the results of all methods that read, between two steps.
func (p *pair) compare() {
	p.m.counts.Remaining = uint64(p.m.left())
	if got := p.r.Counts(); got != p.m.counts {
		p.t.Fatalf("Counts() = %+v, want %+v", got, p.m.counts)
	}
	if got, want := p.r.Len(), p.m.left(); got != want {
		p.t.Fatalf("Len() = %d, want %d", got, want)
	}
	if got, want := p.r.Free(), p.m.slots-p.m.used(); got != want {
		p.t.Fatalf("Free() = %d, want %d", got, want)
	}
	if !slices.Equal(p.handover, p.m.handover) {
		p.t.Fatalf("hand-overs %v, want %v", p.handover, p.m.handover)
	}
}

// FuzzModel reads a setting and a list of steps from a byte string.
func FuzzModel(f *testing.F) {
	const peek, take, hold = 1, 2, 6
	put := func(length, gap byte) byte { return gap<<6 | (length-1)<<3 }
	takeBlock := func(n byte) byte { return (n-1)<<3 | 4 }
	retire := func(back byte) byte { return back<<3 | 5 }
	resume := func(which, n byte) byte { return n<<6 | which<<3 | 7 }
	one, two, four := put(1, 0), put(2, 0), put(4, 0)
	f.Add([]byte{0, peek, one, peek, take, peek, take, one, one, one, take, take, peek, take})
	f.Add([]byte{0, two, put(2, 3), takeBlock(1), takeBlock(3), takeBlock(2), take})
	f.Add([]byte{2, four, four, four, takeBlock(8), take, takeBlock(2), retire(2), four, retire(31), take})
	f.Add([]byte{0, four, four, hold, hold, takeBlock(5), four, resume(0, 0), resume(0, 2), takeBlock(8), take})
	f.Add([]byte{0, four, four, take, hold, hold, hold, hold, resume(4, 2), resume(4, 2), resume(4, 2), resume(4, 2)})
	f.Add([]byte{4, put(8, 1), put(8, 3), take, retire(9), put(8, 0), takeBlock(32), takeBlock(31), four, four})
	f.Add([]byte{1, four, retire(3), hold, retire(1), take, resume(0, 1), four, retire(2), resume(0, 0)})
	end := []byte{5} // up to the largest ID
	for range 7 {
		end = append(end, put(8, 0), takeBlock(8))
	}
	f.Add(append(slices.Clone(end), put(5, 0), hold, retire(31), peek, take, one, retire(31), resume(0, 1)))
	f.Add(append(end, put(5, 0), retire(0), retire(1), retire(3), peek, takeBlock(9), four, retire(30)))
	long := []byte{2}
	for i := range byte(200) {
		long = append(long, two, put(i%8+1, i%4), take, takeBlock(i%4+1), hold, resume(i%3, i%2))
	}
	f.Add(long)
	f.Fuzz(func(t *testing.T, steps []byte) {
		if len(steps) > 0 && len(steps) <= 1500 {
			follow(t, steps)
		}
	})
}

// follow applies a setting and a list of steps to a ring and to its model.
func follow(t *testing.T, steps []byte) {
	t.Helper()
	p := newPair(t, steps[0])
	for _, op := range steps[1:] {
		p.step(op)
		p.compare()
	}
}

func TestRingFollowsItsModel(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range testkit.Scaled(8000) {
		steps := make([]byte, 2+random.IntN(120))
		for i := range steps {
			steps[i] = byte(random.Uint32())
		}
		follow(t, steps)
	}
}
