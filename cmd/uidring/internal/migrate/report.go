package migrate

import (
	"cmp"
	"slices"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// A Report is the result of Examine. In JSON, IDs are texts.
type Report struct {
	Read     int   `json:"read"`     // number of IDs
	Negative int   `json:"negative"` // IDs below 0, counted in Read, too
	Foreign  int   `json:"foreign"`  // numbers that no generator of the format issues, counted in Read, too
	Smallest int64 `json:"smallest,string"`
	Largest  int64 `json:"largest,string"`

	// Oldest and Newest are the first and the last ID by time, nil for a counter: negative IDs
	// follow the positive ones.
	Oldest   *Fields   `json:"oldest,omitempty"`
	Newest   *Fields   `json:"newest,omitempty"`
	Ends     time.Time `json:"ends,omitzero"` // when the delta field of the old IDs is used up; zero for a counter
	Workers  []Worker  `json:"workers"`       // by datacenter and worker ID
	Repeated []Repeat  `json:"repeated"`      // IDs that were read more than once
	LowBits  []LowBits `json:"lowBits"`       // by modulus, only uneven ones
	New      Verdict   `json:"new"`
}

// A Worker is a worker ID of the old IDs.
type Worker struct {
	Datacenter int64     `json:"datacenter"`
	Worker     int64     `json:"worker"`
	IDs        int       `json:"ids"`
	First      time.Time `json:"first"` // of the IDs that were read
	Last       time.Time `json:"last"`
}

// A Repeat is an ID that was read more than once: two generators had one worker ID, or one
// generator issued it twice.
type Repeat struct {
	ID    int64 `json:"id,string"`
	Times int   `json:"times"`
}

// LowBits is the remainder that most IDs have when divided by a modulus.
type LowBits struct {
	Modulus   int64   `json:"modulus"`
	Remainder int64   `json:"remainder"`
	Share     float64 `json:"share"` // of the IDs; 1/Modulus when they are spread evenly
}

// Examine examines existing IDs of a format before generators of the layout and epoch of alloc
// start at a time. There is at least one ID; Examine sorts them. The layout of the format is one
// that [bitsalloc.New] accepts.
func Examine(ids []int64, old Format, alloc *bitsalloc.Allocator, start time.Time) (Report, error) {
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(uint64(a), uint64(b)) })
	r := Report{Read: len(ids), Smallest: slices.Min(ids), Largest: slices.Max(ids),
		Workers: []Worker{}, Repeated: repeated(ids), LowBits: lowBits(ids)}
	positive, _ := slices.BinarySearchFunc(ids, uint64(1)<<63, func(id int64, sign uint64) int { return cmp.Compare(uint64(id), sign) })
	r.Negative = len(ids) - positive
	r.New = judge(ids[:positive], alloc, start)
	if old.Counter() {
		return r, nil
	}
	oldAlloc, err := bitsalloc.New(old.Layout, old.Epoch)
	if err != nil {
		return Report{}, err
	}
	r.Ends = oldAlloc.Expires()
	r.fields(ids, &parser{old, oldAlloc})
	return r, nil
}

// fields parses IDs, which are sorted by time.
func (r *Report) fields(ids []int64, p *parser) {
	type key struct{ datacenter, worker int64 }
	workers := make(map[key]*Worker)
	for _, id := range ids {
		f, ok := p.parse(id)
		if !ok {
			r.Foreign++
			continue
		}
		if r.Oldest == nil {
			r.Oldest = &f
		}
		r.Newest = &f
		w := workers[key{f.Datacenter, f.Worker}]
		if w == nil {
			w = &Worker{Datacenter: f.Datacenter, Worker: f.Worker, First: f.Time}
			workers[key{f.Datacenter, f.Worker}] = w
		}
		w.IDs++
		w.Last = f.Time
	}
	for _, w := range workers {
		r.Workers = append(r.Workers, *w)
	}
	slices.SortFunc(r.Workers, func(a, b Worker) int {
		return cmp.Or(cmp.Compare(a.Datacenter, b.Datacenter), cmp.Compare(a.Worker, b.Worker))
	})
}

// repeated returns the IDs that stand more than once in a sorted list.
func repeated(ids []int64) []Repeat {
	list := []Repeat{}
	for i := 0; i < len(ids); {
		times := 1
		for i+times < len(ids) && ids[i+times] == ids[i] {
			times++
		}
		if times > 1 {
			list = append(list, Repeat{ids[i], times})
		}
		i += times
	}
	return list
}

// lowBits counts remainders for usual numbers of shards. It leaves out moduli for which there are
// too few IDs, or whose most frequent remainder has less than one and a half times its even share.
func lowBits(ids []int64) []LowBits {
	list := []LowBits{}
	const perRemainder = 64
	for _, modulus := range [...]int64{2, 16, 64, 1024} {
		if int64(len(ids)) < perRemainder*modulus {
			break
		}
		counts := make([]int, modulus)
		for _, id := range ids {
			counts[id&(modulus-1)]++
		}
		most := slices.Max(counts)
		if 2*int64(most)*modulus < 3*int64(len(ids)) {
			continue
		}
		list = append(list, LowBits{modulus, int64(slices.Index(counts, most)), float64(most) / float64(len(ids))})
	}
	return list
}
