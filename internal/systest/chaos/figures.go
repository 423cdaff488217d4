package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
)

// figures count the faults and events of a run. Any number of goroutines may use them.
type figures struct {
	processes, kills, naps, freezes, zombies, clocks, reopenings atomic.Int64 // faults of processes
	serverKills, restores, networkFaults                         atomic.Int64

	mu            sync.Mutex
	holders       map[int64]int // process that took a worker ID last
	leases        int64         // taken
	takeovers     int64         // of them from another process
	leasesLost    int64
	renewFailures int64
	errors        map[string]int64 // by name of the sentinel; an error may count under several
	mostLost      time.Duration    // ID time that a fence went back by in a restore
}

func newFigures() *figures {
	return &figures{holders: make(map[int64]int), errors: make(map[string]int64)}
}

// event counts an event of a process.
func (f *figures) event(process int, e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e.Kind {
	case eventLeased:
		f.leases++
		if last, ok := f.holders[e.WorkerID]; ok && last != process {
			f.takeovers++
		}
		f.holders[e.WorkerID] = process
	case inLost:
		f.leasesLost++
	case inRenew:
		f.renewFailures++
	}
	for _, name := range e.Sentinels {
		f.errors[name]++
	}
}

func (f *figures) wentBack(idTime time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mostLost = max(f.mostLost, idTime)
}

// missing names the faults and events that a run needs to be significant, and that have not
// occurred.
func (f *figures) missing() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var names []string
	for _, c := range []struct {
		name  string
		count int64
	}{
		{"process killed", f.kills.Load()},
		{"process stopped beyond its lease", f.freezes.Load()},
		{"process replaced while it was stopped", f.zombies.Load()},
		{"wrong clock", f.clocks.Load()},
		{"network fault", f.networkFaults.Load()},
		{"kill of the server", f.serverKills.Load()},
		{"restore", f.restores.Load()},
		{"takeover of a worker ID", f.takeovers},
		{"lost lease", f.leasesLost},
		{"failed renewal", f.renewFailures},
		{"ErrLeaseExhausted", f.errors["ErrLeaseExhausted"]},
		{"ErrWorkersExhausted", f.errors["ErrWorkersExhausted"]},
		{"ErrUnreachable", f.errors["ErrUnreachable"]},
	} {
		if c.count == 0 {
			names = append(names, c.name)
		}
	}
	return names
}

// progress returns a line to print during the run.
func (f *figures) progress(t tally, elapsed, duration time.Duration) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("chaos %v of %v: %s IDs (%s/s), %d duplicates; %d kills, %d stops, %d server kills, %d restores, %d leases, %d lost",
		elapsed.Round(time.Second), duration, humanize.Comma(t.ids), humanize.Comma(int64(float64(t.ids)/elapsed.Seconds())), t.duplicates,
		f.kills.Load(), f.stops(), f.serverKills.Load(), f.restores.Load(), f.leases, f.leasesLost)
}

func (f *figures) stops() int64 { return f.naps.Load() + f.freezes.Load() + f.zombies.Load() }

// line returns the last line of the run.
func (f *figures) line(t tally, o options, elapsed time.Duration) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	parts := []string{
		fmt.Sprintf("%v, seed %d, %d processes on %d worker IDs, innodb_flush_log_at_trx_commit=%d: %s IDs (%s/s), %s duplicates, %d shared blocks",
			elapsed.Round(time.Second), o.seed, o.processes, o.workers, o.flush, humanize.Comma(t.ids),
			humanize.Comma(int64(float64(t.ids)/elapsed.Seconds())), humanize.Comma(t.duplicates), t.shared),
		fmt.Sprintf("%d processes started, %d killed, %d stops (%d of them beyond the lease, %d with a successor meanwhile), %d wrong clocks, %d generators reopened",
			f.processes.Load(), f.kills.Load(), f.stops(), f.freezes.Load()+f.zombies.Load(), f.zombies.Load(), f.clocks.Load(), f.reopenings.Load()),
		fmt.Sprintf("%d server kills, %d restores (back by up to %v of ID time), %d network faults",
			f.serverKills.Load(), f.restores.Load(), f.mostLost, f.networkFaults.Load()),
		fmt.Sprintf("%d leases taken, %d of them over from another process, %d lost, %d renewals failed", f.leases, f.takeovers, f.leasesLost, f.renewFailures),
	}
	var counts []string
	for _, name := range slices.Sorted(maps.Keys(f.errors)) {
		counts = append(counts, fmt.Sprintf("%s %d", name, f.errors[name]))
	}
	return strings.Join(append(parts, strings.Join(counts, ", ")), "; ")
}
