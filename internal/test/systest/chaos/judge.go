package chaos

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/uidring/uidring/internal/test/idset"
)

// The names of faults and findings that a judge counts. Errors count under their own.
const (
	started    = "process started"
	killed     = "process killed"
	stopped    = "process stopped beyond its lease"
	replaced   = "process replaced while it was stopped"
	wrongClock = "wrong clock"
	crashLoop  = "crash loop"
	deployed   = "rolling deployment"
	ended      = "process ended in order"
	badNetwork = "network fault"
	deadServer = "kill of the server"
	restored   = "restore"

	differentIDs = "IDs"
	duplicates   = "duplicates"
	sharedBlocks = "IDs in a block of another process" // fences do not allow it even where no ID comes twice
)

// A judge counts every ID and error of the holders. Any number of goroutines may use it.
type judge struct {
	durable bool // else duplicates are expected

	mu       sync.Mutex
	seen     idset.Set
	blocks   map[int64]int   // the holder whose IDs came first, by ID without its sequence
	highest  map[int64]int64 // delta of an ID, by worker ID
	counts   map[string]int
	failures []error // the first few
}

func newJudge(durable bool) *judge {
	return &judge{durable: durable, blocks: make(map[int64]int), highest: make(map[int64]int64), counts: make(map[string]int)}
}

// hear counts a message of a holder.
func (j *judge) hear(number int, m message) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, id := range m.IDs {
		block := id >> layout().SequenceBits
		delta, worker := block>>layout().WorkerBits, block&(workers-1)
		if i == 0 && m.First != nil {
			m.First.After = delta - j.highest[worker]
		}
		j.highest[worker] = max(j.highest[worker], delta)
		first, ok := j.blocks[block]
		if !ok {
			j.blocks[block] = number
		} else if first != number {
			j.wrong(sharedBlocks, number, first, id)
		}
	}
	again := j.seen.Add(m.IDs...)
	for _, id := range again {
		j.wrong(duplicates, number, j.blocks[id>>layout().SequenceBits], id)
	}
	j.counts[differentIDs] += len(m.IDs) - len(again)
	if m.Error != "" {
		j.counts[m.Error]++
	}
	if m.Undocumented {
		j.fail("process %d: an error that is not documented there: %s", number, m.Error)
	}
}

// wrong counts an ID that should not have come. The caller holds mu.
func (j *judge) wrong(kind string, number, first int, id int64) {
	j.counts[kind]++
	if l := layout(); j.durable {
		block := id >> l.SequenceBits
		j.fail("%s: process %d has sequence %d of worker %d, delta %d; the block came from process %d first",
			kind, number, id&(1<<l.SequenceBits-1), block&(1<<l.WorkerBits-1), block>>l.WorkerBits, first)
	}
}

// fail adds a failure. The caller holds mu.
func (j *judge) fail(format string, args ...any) {
	if len(j.failures) < 10 {
		j.failures = append(j.failures, fmt.Errorf(format, args...))
	}
}

func (j *judge) count(name string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.counts[name]++
	return j.counts[name]
}

func (j *judge) of(name string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.counts[name]
}

// String returns all counts.
func (j *judge) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.TrimPrefix(fmt.Sprint(j.counts), "map")
}

// verdict returns the failures, and the faults without which the run shows too little.
func (j *judge) verdict(required ...string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	errs := slices.Clone(j.failures)
	for _, name := range required {
		if j.counts[name] == 0 {
			errs = append(errs, fmt.Errorf("too little has happened: no %s", name))
		}
	}
	return errors.Join(errs...)
}

// inflicted are the faults without which a run shows nothing. Their effects depend on how much CPU
// time the holders get: the log has the counts.
var inflicted = []string{differentIDs, killed, stopped, crashLoop, ended, badNetwork, deadServer}
