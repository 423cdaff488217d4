package chaos

import (
	"net/netip"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/internal/test/testserver"
)

// An incident is a run with a script in place of random faults.
type incident struct {
	*chaosRun
	t      *testing.T
	number int // of the last process
}

func newIncident(t *testing.T) *incident {
	t.Helper()
	server := testserver.MariaDB(t)
	i := &incident{chaosRun: newIdleRun(t, 1), t: t}
	i.server = server
	var err error
	if i.database, err = openDatabase(t.Context(), server.DSN(), i.alloc); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.close(); err != nil {
			t.Error(err)
		}
	})
	return i
}

// start starts a process with a worker ID and waits until it has issued IDs.
func (i *incident) start(p profile) *child {
	i.t.Helper()
	c := i.launch(p)
	before := i.counter.perWorker()[p.WorkerID]
	poll.Until(i.t, "IDs of the process", func() bool { return i.counter.perWorker()[p.WorkerID] > before+1000 })
	return c
}

func (i *incident) launch(p profile) *child {
	i.t.Helper()
	i.number++
	p.Number, p.DSN, p.Layout, p.Window, p.Rate, p.Mode = i.number, i.server.DSN(), layout(), 2*time.Second, 100_000, "next"
	c, err := startChild(i.chaosRun, p)
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(c.kill)
	return c
}

// Two hosts derive the same worker ID from addresses that agree in the low bits. In production that
// gave a hundred duplicate keys in two days.
func TestHostsWithTheSameAddressSuffix(t *testing.T) {
	skipWhereChaosCannotRun(t)
	var derived [2]int64
	for host, address := range []string{"192.168.209.51", "192.168.161.51"} {
		lease, err := assigner.IPv4Suffix(netip.MustParseAddr(address), 3).Assign(t.Context(), assigner.Domain{Layout: layout()})
		if err != nil {
			t.Fatal(err)
		}
		derived[host] = lease.Grant().WorkerID
	}
	if derived != [2]int64{3, 3} {
		t.Fatalf("worker IDs %v, want 3 for both", derived)
	}
	t.Run("derived", func(t *testing.T) {
		i := newIncident(t)
		for _, worker := range derived {
			i.launch(profile{Kind: "derived", WorkerID: worker})
		}
		poll.Until(t, "duplicates", func() bool {
			tally, _ := i.counter.totals()
			return tally.duplicates > 0
		})
	})
	t.Run("fenced", func(t *testing.T) {
		i := newIncident(t)
		first := i.start(profile{Kind: "fenced", WorkerID: derived[0], Slot: 0, MaxSkew: maxSkew})
		second := i.launch(profile{Kind: "fenced", WorkerID: derived[1], Slot: 1, MaxSkew: maxSkew})
		poll.Until(t, "the second host is refused", func() bool { return i.figures.of("ErrWorkerInUse") > 0 })
		first.finish() // releases the worker ID
		before := i.counter.perWorker()[derived[1]]
		<-first.done
		poll.Until(t, "the second host goes on", func() bool { return i.counter.perWorker()[derived[1]] > before+1000 })
		second.kill()
		i.noDuplicates()
	})
}

// A generator that asks the clock alone would repeat an hour of IDs.
func TestRestartsWithAClockAnHourBack(t *testing.T) {
	skipWhereChaosCannotRun(t)
	i := newIncident(t)
	for _, clock := range []time.Duration{0, -time.Hour, 0} {
		i.start(profile{Kind: "fenced", WorkerID: 1, MaxSkew: 2 * time.Hour, Clock: clock}).kill()
	}
	i.noDuplicates()
}

func (i *incident) noDuplicates() {
	i.t.Helper()
	tally, findings := i.counter.totals()
	if tally.ids == 0 || tally.duplicates+tally.shared+tally.foreign > 0 || len(i.failures) > 0 {
		i.t.Errorf("%+v, %q, failures %q", tally, findings, i.failures)
	}
}
