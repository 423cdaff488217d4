package assigner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Thousands of simulated starts warn of a new namespace.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

const (
	simUnit  = 100 * time.Millisecond
	simStart = 1_000_000 // the delta at which a world begins
	simSteps = 1500
)

func simLayout(workerBits uint8) bitsalloc.Layout {
	return bitsalloc.Layout{DeltaBits: 40, WorkerBits: workerBits, SequenceBits: 2, Unit: simUnit}
}

// simAlloc turns deltas into times.
var simAlloc, _ = bitsalloc.New(simLayout(2), time.Time{})

// A simulation configures worlds. Its zero value, with defaults, runs the unchanged protocol on a
// store that fails in every way that keeps acknowledged commits. Mutants change it.
type simulation struct {
	matches  predicate
	write    func(*simWorld, leasestore.Row) leasestore.Row
	link     func(leasestore.Store) leasestore.Store
	grant    func(Grant) Grant
	overrun  int64                                   // deltas composed before they are checked
	accident func(*simWorld)                         // something that happens now and then
	often    bool                                    // and rather often
	all      bool                                    // count duplicates also where a store that went back has not been heard since
	fenced   int                                     // percent of the holders that have a number of their own
	lossy    bool                                    // the store says that it may forget
	moves    int                                     // percent of the worlds whose store has an identity, which failovers change
	calm     bool                                    // clocks are right, and no holder runs further ahead of them than MaxLead
	pairs    bool                                    // and each host, and each server, has a clock that is off by MaxSkew at most
	undying  bool                                    // holders go on with a lease whose release returned an error
	early    int64                                   // deltas that a holder composes after it has read how far it is, before its release
	hasty    bool                                    // holders end soon, and start again at once
	poller   func(leasestore.Store) leasestore.Store // the store of a process that calls Horizon; nil: there is none
}

func (s simulation) defaults() simulation {
	if s.write == nil {
		s.write = func(_ *simWorld, r leasestore.Row) leasestore.Row { return r }
	}
	if s.link == nil {
		s.link = func(s leasestore.Store) leasestore.Store { return s }
	}
	if s.grant == nil {
		s.grant = func(g Grant) Grant { return g }
	}
	return s
}

// A simWorld is one schedule: all that happens in it follows from its seed.
type simWorld struct {
	sim       simulation
	rng       *rand.Rand
	time      int64 // the true one, in units
	storeSkew int64
	downUntil int64
	workers   int64 // how many worker IDs there are
	window    int64
	skew      int64 // MaxSkew
	haste     int   // of time, against the steps of holders
	accidents int   // percent of the occasions
	faults    int   // percent of the calls
	moving    bool
	alike     bool // all holders begin with clocks that are right
	healing   bool
	era       int // how often the store went back
	store     *simStore
	holders   []*simHolder
	poller    *simHolder // or nil
	horizon   int64      // the highest delta of Horizon
	past      int64      // the highest delta below which Horizon takes holders for gone
	serial    int
	servers   int
	used      map[slot]use
	telling   bool     // keep the events
	lines     []string // the events

	duplicates, losses int
	wrong              []string
}

type slot struct{ worker, delta int64 }

// A use is who has composed a delta, and in which era its grant was last proved; -1: not in the era
// of the use.
type use struct{ serial, era int }

type fate int

const (
	applied    fate = iota
	lost            // never arrives
	unanswered      // takes effect, and the answer is lost
	late            // takes effect later, if it still can
)

func newWorld(seed uint64, sim simulation) *simWorld {
	w := &simWorld{
		sim:  sim.defaults(),
		rng:  rand.New(rand.NewPCG(seed, 3)),
		time: simStart,
		used: make(map[slot]use),
	}
	workerBits := uint8(w.rng.IntN(3))
	w.window = 2 + w.rng.Int64N(60)
	w.moving = w.chance(w.sim.moves)
	w.skew, w.haste, w.accidents = 600, 30, 100
	switch { // or nothing but quarantine happens
	case w.sim.lossy:
		w.skew, w.haste, w.window, w.accidents = 12, 10, 5+w.window%20, 15
	case w.moving:
		w.skew, w.haste, w.window, w.accidents = 12, 20, 5+w.window%20, 10
	}
	w.faults = w.rng.IntN(15)
	w.alike = w.chance(50) || w.sim.calm
	w.workers = 1 << workerBits
	w.store = &simStore{memStore: newMemStore(), w: w, creating: make(map[int64]int)}
	w.store.status.Lossy = w.sim.lossy
	w.store.write = func(r leasestore.Row) leasestore.Row { return w.sim.write(w, r) }
	if w.sim.matches != nil {
		w.store.matches = w.sim.matches
	}
	w.failover()
	for id := range 2 + w.rng.IntN(7) {
		w.holders = append(w.holders, w.newHolder(id, workerBits))
	}
	if sim.poller != nil {
		w.newPoller()
	}
	return w
}

func (w *simWorld) newHolder(id int, workerBits uint8) *simHolder {
	h := &simHolder{w: w, id: id, eager: w.chance(50) && !w.sim.calm}
	h.domain = Domain{Layout: simLayout(workerBits), Epoch: simAlloc.Epoch()}
	if !w.alike {
		h.offset, h.drift = w.off(), w.rng.Int64N(5)-2
	}
	if w.sim.calm {
		h.ahead = w.rng.Int64N(5*w.window/2 + 1) // the default of MaxLead
	}
	if w.sim.pairs {
		h.offset = w.rng.Int64N(2*w.skew+1) - w.skew
	}
	h.domain.Now = h.clock
	cfg := LeaseConfig{Window: time.Duration(w.window) * simUnit, MaxSkew: time.Duration(w.skew) * simUnit, Owner: fmt.Sprint("holder ", id)}
	store := w.sim.link(simLink{w.store, h})
	switch {
	case w.chance(w.sim.fenced):
		// Owners share numbers, and now and then two processes are one owner.
		source := Static(w.rng.Int64N(1 << workerBits))
		cfg.Owner = fmt.Sprint("host ", w.rng.IntN(1+id))
		h.assigner = Fenced(store, source, cfg)
	case w.chance(50):
		h.assigner = Leased(store, cfg)
	default:
		h.assigner = Auto(store, cfg)
	}
	h.assigner.(*leaser).shuffle, h.assigner.(*leaser).holder = w.rng.Shuffle, cfg.Owner
	h.assigner.(*leaser).clock = func() instant {
		return instant{mono: simAlloc.Time(w.time * (1000 + h.drift) / 1000), wall: simAlloc.Time(h.clock())}
	}
	h.assigner.(*leaser).pause = func(context.Context, int) { h.travel() }
	h.start(nil, nil)
	return h
}

func (w *simWorld) chance(percent int) bool { return w.rng.IntN(100) < percent }

// steps is more where time passes more slowly, and where quarantines take time.
func (w *simWorld) steps() int {
	if w.moving {
		return 4 * simSteps
	}
	return simSteps * 30 / w.haste
}

func (w *simWorld) down() bool { return w.time < w.downUntil }

func (w *simWorld) newSerial() int {
	w.serial++
	return w.serial
}

func (w *simWorld) fate() fate {
	switch {
	case w.down():
		return lost
	case w.chance(2 * w.faults):
		return lost + fate(w.rng.IntN(3))
	default:
		return applied
	}
}

func (w *simWorld) log(format string, args ...any) {
	if w.telling {
		w.lines = append(w.lines, fmt.Sprintf("%d: "+format, append([]any{w.time - simStart}, args...)...))
	}
}

// use notes a delta. It is a duplicate when another lease has used it; after the store went back
// only when both grants had been proved since.
func (w *simWorld) use(h *simHolder, worker, delta int64) {
	w.belowHorizon(h, worker, delta)
	now := use{h.serial, h.proved}
	if now.era != w.era {
		now.era = -1
	}
	before, found := w.used[slot{worker, delta}]
	sound := now.era >= 0 && before.era == now.era
	if found && (w.sim.all || sound) {
		w.duplicates++
		w.log("DUPLICATE of worker %d, delta %d: leases %d and %d", worker, delta, before.serial, now.serial)
	}
	if !found || before.era < now.era {
		w.used[slot{worker, delta}] = now
	}
}

// judge reports an error that neither the store nor the allowed list explains, on a store that
// fulfils its contract.
func (w *simWorld) judge(err error, allowed ...error) {
	if w.sim.accident != nil {
		return
	}
	for _, sentinel := range append(allowed, errStore, errMoved) {
		if errors.Is(err, sentinel) {
			return
		}
	}
	w.wrong = append(w.wrong, err.Error())
}

// happen makes other random events of the world.
func (w *simWorld) happen() {
	if w.chance(w.haste) {
		w.time += w.rng.Int64N(4)
	}
	if n := len(w.store.late); n > 0 && w.chance(8) {
		i := w.rng.IntN(n)
		swap := w.store.late[i]
		w.store.late = slices.Delete(w.store.late, i, i+1)
		swap()
		w.log("a swap has arrived late")
	}
	h := w.holders[w.rng.IntN(len(w.holders))]
	switch event := w.rng.IntN(300); event {
	case 0, 1, 2:
		if !w.sim.calm {
			w.adjust(event, h)
		}
	case 3, 4:
		h.paused = w.time + w.rng.Int64N(8*w.window)
		w.log("holder %d: paused until %d", h.id, h.paused-simStart)
	case 5, 6:
		w.log("holder %d: killed", h.id)
		h.start(nil, nil)
	case 7:
		if w.moving && w.chance(85) { // or nothing but quarantine happens
			return
		}
		w.failover()
		w.downUntil = w.time + w.rng.Int64N(2*w.window)
		w.log("failover, down until %d", w.downUntil-simStart)
	case 8:
		w.time += w.rng.Int64N(4 * w.window)
	case 9:
		h.eager = !h.eager && !w.sim.calm
	case 10, 11:
		if w.sim.accident != nil && w.chance(w.accidents) {
			w.sim.accident(w)
		}
	}
	if event := w.rng.IntN(300); event < 3 {
		h.cutOff = w.time + w.rng.Int64N(4*w.window)
		w.log("holder %d: cut off until %d", h.id, h.cutOff-simStart)
	}
	if w.sim.often && w.chance(5) {
		w.sim.accident(w)
	}
}

// adjust sets the clock of the store, or of a holder.
func (w *simWorld) adjust(event int, h *simHolder) {
	switch {
	case event == 0:
		w.storeSkew = w.rng.Int64N(w.skew+1) - w.skew/2
		w.log("the store's clock is off by %d", w.storeSkew)
		return
	case event == 1:
		h.offset = w.off()
	case w.chance(20):
		h.offset = w.rng.Int64N(20_001) - 10_000
	}
	w.log("holder %d: clock off by %d", h.id, h.offset)
}

// off is how far a clock is off, most often bearably.
func (w *simWorld) off() int64 { return (w.rng.Int64N(2*w.skew+1) - w.skew) * 5 / 6 }

func (w *simWorld) failover() {
	if w.moving {
		w.servers++
		w.store.status.Identity = fmt.Sprint("server ", w.servers)
		if w.sim.pairs {
			w.storeSkew = w.rng.Int64N(w.skew+1) - w.skew/2
		}
	}
}

func (w *simWorld) run(steps int) {
	for range steps {
		switch {
		case !w.healing:
			w.happen()
		case w.chance(30):
			w.time++
		}
		if h := w.holders[w.rng.IntN(len(w.holders))]; h.paused <= w.time {
			h.step()
		}
		if w.poller != nil && w.chance(30) {
			w.poller.step()
		}
	}
}

func (w *simWorld) close() {
	for _, h := range w.holders {
		h.stop()
	}
	if w.poller != nil {
		w.poller.stop()
	}
}

// simulate runs one schedule.
func simulate(seed uint64, sim simulation) *simWorld {
	w := newWorld(seed, sim)
	defer w.close()
	w.run(w.steps())
	return w
}

// story runs a seed again and returns its events, up to the first duplicate.
func story(seed uint64, sim simulation) string {
	w := newWorld(seed, sim)
	defer w.close()
	w.telling = true
	w.run(w.steps())
	lines := w.lines
	if i := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, "DUPLICATE") }); i >= 0 {
		lines = lines[:i+1]
	}
	return strings.Join(lines[max(0, len(lines)-60):], "\n")
}

// number returns the number in an environment variable, or otherwise if it is not set.
func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// firstSeed returns the seed of the first schedule of each test: UIDRING_SEED, or another million
// on each day, UTC. It logs the seed, to repeat a failure with.
func firstSeed(t *testing.T) uint64 {
	t.Helper()
	first := number(t, "UIDRING_SEED", uint64(time.Now().Unix()/(24*60*60))*1_000_000)
	t.Logf("UIDRING_SEED=%d", first)
	return first
}

// seeds returns the seeds of the schedules that a test runs: n, or fewer where each takes longer.
// UIDRING_SEEDS sets another number.
func seeds(t *testing.T, n int) (from, to uint64) {
	t.Helper()
	from = firstSeed(t)
	return from, from + number(t, "UIDRING_SEEDS", uint64(testkit.Scaled(n)))
}

// noDuplicates runs n schedules and returns how many deltas were used in them.
func noDuplicates(t *testing.T, n int, sim simulation) {
	t.Helper()
	from, to := seeds(t, n)
	var used, losses int
	for seed := from; seed < to; seed++ {
		w := simulate(seed, sim)
		if w.duplicates > 0 || len(w.wrong) > 0 {
			t.Fatalf("UIDRING_SEED=%d UIDRING_SEEDS=1: %d duplicates, unexpected errors %q\n%s", seed, w.duplicates, w.wrong, story(seed, sim))
		}
		used += len(w.used)
		losses += w.losses
	}
	t.Logf("%d schedules: %d deltas used, none twice; %d leases lost", to-from, used, losses)
	if used == 0 {
		t.Error("nothing was used")
	}
}

func TestSimulationHasNoDuplicates(t *testing.T) {
	noDuplicates(t, 2000, simulation{fenced: 30, moves: 25})
}

// heal ends all trouble: the store answers, clocks are right to a few seconds, all holders run.
// Messages under way have arrived or are lost.
func (w *simWorld) heal() {
	w.healing, w.faults, w.downUntil, w.storeSkew = true, 0, 0, 0
	for _, swap := range w.store.late {
		if w.chance(50) {
			swap()
		}
	}
	w.store.late = nil
	for _, h := range w.holders {
		h.offset, h.drift, h.paused, h.cutOff, h.eager = w.rng.Int64N(101)-50, 0, 0, 0, true
	}
}

// usable counts the worker IDs that have a row or were never given out.
func (w *simWorld) usable() (n int) {
	for worker := range w.workers {
		if w.store.rows[worker].Version != 0 || worker >= w.store.meta.NextWorkerID {
			n++
		}
	}
	return n
}

// starved runs a world with trouble, heals it, and returns how many holders get no lease although
// there are worker IDs for them.
func starved(seed uint64, sim simulation) int {
	w := newWorld(seed, sim)
	defer w.close()
	w.run(simSteps / 2)
	w.heal()
	for len(w.holders) > w.usable() { // killed, and not started again
		w.holders[0].stop()
		w.holders = slices.Delete(w.holders, 0, 1)
	}
	if len(w.holders) == 0 {
		return 0
	}
	w.run(2000)
	for _, h := range w.holders {
		h.used = 0
	}
	w.run(500)
	n := 0
	for _, h := range w.holders {
		if h.lease == nil || h.used == 0 {
			n++
		}
	}
	return n
}

// After any trouble all holders get a lease and compose IDs, as long as there are enough worker
// IDs.
func TestSimulationStarvesNoHolder(t *testing.T) {
	from, to := seeds(t, 1000)
	for seed := from; seed < to; seed++ {
		if n := starved(seed, simulation{}); n > 0 {
			t.Fatalf("UIDRING_SEED=%d UIDRING_SEEDS=1: %d holders get nothing", seed, n)
		}
	}
}

// The simulation sees rows that never expire.
func TestSimulationSeesStarvedHolders(t *testing.T) {
	never := simulation{write: func(w *simWorld, r leasestore.Row) leasestore.Row {
		r.Expires = r.Expires.AddDate(1, 0, 0)
		return r
	}}
	caught(t, func(seed uint64) bool { return starved(seed, never) > 0 })
}
