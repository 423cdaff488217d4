package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
)

// The names of faults and events that a run counts. Errors count under their own names.
const (
	started    = "process started"
	killed     = "process killed"
	frozen     = "process stopped beyond its lease"
	replaced   = "process replaced while it was stopped"
	wrongClock = "wrong clock"
	cutNetwork = "network fault"
	deadServer = "kill of the server"
	restored   = "restore"
	takeover   = "takeover of a worker ID"
)

// required are the faults and events without which a run shows too little.
func required() []string {
	return []string{killed, frozen, replaced, wrongClock, cutNetwork, deadServer, restored, takeover, inLost, inRenew,
		"ErrLeaseExhausted", "ErrWorkersExhausted", "ErrUnreachable"}
}

// figures count faults and events. Any number of goroutines may use them.
type figures struct {
	mu       sync.Mutex
	counts   map[string]int64
	holders  map[int64]int // process that took a worker ID last
	mostLost time.Duration // ID time that a fence went back by in a restore
}

func newFigures() *figures {
	return &figures{counts: make(map[string]int64), holders: make(map[int64]int)}
}

func (f *figures) count(name string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.counts[name]++
	return f.counts[name]
}

func (f *figures) of(name string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counts[name]
}

// event counts an event of a process.
func (f *figures) event(process int, e event) {
	f.count(e.Kind)
	if e.Error != "" {
		f.count(e.Error)
	}
	if e.Kind != eventLeased {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if last, ok := f.holders[e.WorkerID]; ok && last != process {
		f.counts[takeover]++
	}
	f.holders[e.WorkerID] = process
}

func (f *figures) wentBack(idTime time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mostLost = max(f.mostLost, idTime)
}

// missing returns the required faults and events that have not occurred.
func (f *figures) missing() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(required(), func(name string) bool { return f.counts[name] > 0 })
}

// line returns the state of the run in one line.
func (f *figures) line(t tally, elapsed time.Duration) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts := []string{fmt.Sprintf("%v: %s IDs (%s/s), %d duplicates, %d shared blocks, back by up to %v of ID time", elapsed.Round(time.Second),
		humanize.Comma(t.ids), humanize.Comma(int64(float64(t.ids)/elapsed.Seconds())), t.duplicates, t.shared, f.mostLost)}
	for _, name := range slices.Sorted(maps.Keys(f.counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, f.counts[name]))
	}
	return strings.Join(parts, ", ")
}
