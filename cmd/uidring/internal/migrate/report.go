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

// Examine examines existing IDs of a format before generators of the layout and epoch of alloc
// start at a time. There is at least one ID; Examine sorts them. The layout of the format is one
// that [bitsalloc.New] accepts.
func Examine(ids []int64, old Format, alloc *bitsalloc.Allocator, start time.Time) (Report, error) {
	slices.SortFunc(ids, func(a, b int64) int { return cmp.Compare(uint64(a), uint64(b)) })
	r := Report{Read: len(ids), Smallest: slices.Min(ids), Largest: slices.Max(ids),
		Workers: []Worker{}, Repeated: repeated(ids)}
	positive := slices.IndexFunc(ids, func(id int64) bool { return id < 0 })
	if positive < 0 {
		positive = len(ids)
	}
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
	for i, id := range ids[1:] {
		switch n := len(list); {
		case id != ids[i]:
		case n > 0 && list[n-1].ID == id:
			list[n-1].Times++
		default:
			list = append(list, Repeat{id, 2})
		}
	}
	return list
}
