package gentest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Scripts runs scripts: the files in testdata of the package under test, and of this package, which
// has the stories that the packages share. A paragraph is a [scripts.Story] of one generator. It
// runs with each policy of the package, with the same answers, unless it names a policy.
//
// A story begins in unit 1000, with units of a second and 16 IDs each. An ID is written as its
// delta and sequence number, as in 1000.15; s stands for a scattered sequence number. IDs that
// follow one another are written as the first and the last. Worker IDs count from 1; IDs of another
// worker ID than 1 name it. PACKAGE stands for the name of the package in errors.
//
// These commands prepare a story:
//
//	on assign fenced 1000 1099 / sleep 1h; derived 1 / fail down     answers of the store
//	on renew to 1200 / raise 30 / fail lost
//	on release hang
//	on read sleep 2ms / at 253370764800 / ok    readings of the user's clock; at sets the Unix time
//	on padded ok / hold / ok                    calls of Trace.Padded
//	show assign renew release rejected failed log    calls of the store and of Trace, log records
//	within 10s                                  sets RenewWithin of leases
//
// Each call takes the next answer, and the last answer stays. A grant is fenced, with First and
// Last, lossy, or derived, with First, and otherwise fresh; worker sets its worker ID, and other
// adds one. It may also be zero, except for the worker ID, or none. to sets the limit, and raise
// moves it so far beyond the delta wanted.
//
// These commands are under test:
//
//	open within=1m cancel=20s start=30s   NewContext within a time, which may be canceled, or New
//	open layout=28/0/10/4@1s age=24h datacenter=3 timeout=10s reuse    fields of the Config
//	open static=7, leased, unassigned     other assigners
//	open policy=1, or the name of a policy, and words of the package
//	take, fill, reserve and wait          see Take
//	pace 100 16 5s, pace 100 16 5s l      takes 16 IDs, and sleeps, 100 times
//	crowd 100 wait 1m                     takes IDs on so many goroutines
//	locked take 20                        runs a command while no IDs are prepared
//	stats Remaining LastDelta             fields of Stats
//	oldest                                the oldest delta that the store knows
//	reads                                 how often the user's clock was read since the last reads
//	invalidate, close, and commands of the package
func Scripts(t *testing.T, subject Subject) {
	runScripts(t, subject)
	t.Run("shared", func(t *testing.T) {
		t.Chdir("../internal/test/gentest")
		runScripts(t, subject)
	})
}

func runScripts(t *testing.T, subject Subject) {
	t.Helper()
	scripts.Stories(t, len(subject.Policies), func(s *scripts.Story) { newStory(s, &suite{subject, s.Policy}) })
}

// A story is the world of a paragraph.
type story struct {
	*scripts.Story
	*suite
	number int64 // of the story
	store  *fakeassigner.Assigner
	put    atomic.Int64 // blocks
	reads  atomic.Int64 // of the user's clock

	Generator // opened last
	cfg       Config
	mu        sync.Mutex       // guards last
	last      map[string]int64 // the last ID of the stream, which has no name, and of each lane
}

// stories numbers the stories that have run. Each has a datacenter ID of its own, since the process
// remembers a worker ID.
var stories atomic.Int64

func newStory(s *scripts.Story, of *suite) {
	w := &story{Story: s, suite: of, number: stories.Add(1), last: make(map[string]int64)}
	s.Do, s.Text, s.Sentinels, s.Failures = w.test, w.text, sentinels, failures
	w.store = &fakeassigner.Assigner{
		OnAssign: func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
			if d.MaxAhead == math.MaxInt64 {
				w.Event("assign", "assign")
			} else {
				w.Event("assign", "assign, at most %d units ahead", d.MaxAhead)
			}
			g, _ := fakeassigner.Fresh(ctx, nth, d)
			return g, Answer(ctx, s, "assign", &g, 0)
		},
		OnRenew: func(ctx context.Context, g *assigner.Grant, used, want int64) error {
			w.Event("renew", "renew, used %d, wanted %d", used, want)
			return Answer(ctx, s, "renew", g, want)
		},
		OnRelease: func(ctx context.Context, g assigner.Grant, used int64) error {
			w.Event("release", "release, used %d", used)
			return Answer(ctx, s, "release", &g, 0)
		},
	}
}

var errDown = errors.New("store out of reach")

// failures are the errors of the store.
var failures = map[string]error{
	"down":    errDown,
	"late":    fmt.Errorf("%w: %w", errDown, context.DeadlineExceeded), // of the call
	"lost":    assigner.ErrWorkerRowLost,
	"missing": errors.Join(assigner.ErrWorkerRowLost, leasestore.ErrRowMissing),
}

// Answer runs the next answer of a store in a story, which may change a grant: see Scripts.
func Answer(ctx context.Context, s *scripts.Story, operation string, g *assigner.Grant, want int64) error {
	return s.Answer(ctx, operation, func(words testkit.Words) bool {
		switch name := words.Arg(0); name {
		case "fenced", "lossy":
			g.First, g.Last, g.Guarantee, g.Reusable = words.Number(1), words.Number(2), guarantees[name], true
		case "derived":
			g.First, g.Guarantee, g.Reusable = words.Number(1), assigner.GuaranteeDerived, true
		case "worker":
			g.WorkerID = words.Number(1)
		case "other":
			g.WorkerID++
		case "to":
			g.Last = words.Number(1)
		case "raise":
			g.Last = max(g.Last, want+words.Number(1))
		case "zero":
			*g = assigner.Grant{WorkerID: 3}
		case "none":
			*g = assigner.Grant{}
		default:
			return false
		}
		return true
	})
}

var guarantees = map[string]assigner.Guarantee{"fenced": assigner.GuaranteeFenced, "lossy": assigner.GuaranteeLossy}

// zone is the time zone of the user: errors have times in UTC.
var zone = time.FixedZone("", 3600)

// now is the user's clock.
func (w *story) now() time.Time {
	w.reads.Add(1)
	now := time.Now().Add(w.Ahead())
	_ = w.Answer(w.T.Context(), "read", func(words testkit.Words) bool {
		if words.Arg(0) == "at" {
			now = time.Unix(words.Number(1), 0)
		}
		return words.Arg(0) == "at"
	})
	return now.In(zone)
}

// test makes a command under test, and returns its result.
func (w *story) test(words testkit.Words) (result string, err error) {
	switch name := words.Arg(0); {
	case name == "open":
		return "", w.openStory(words)
	case name == "within":
		w.store.Within = words.Duration(1)
	case w.Generator == nil:
		return "", errors.New("no generator is open")
	case name == "take", name == "fill", name == "reserve", name == "wait":
		ids, err := w.ids(words)
		return w.list(words.Arg(2), ids), err
	case name == "stats":
		return w.fields(words[1:]), nil
	case name == "oldest":
		return fmt.Sprint(w.store.Oldest.Load()), nil
	case name == "reads":
		return fmt.Sprint(w.reads.Swap(0)), nil
	case name == "invalidate":
		w.Invalidate()
	case name == "close":
		return "", w.Close()
	case name == "crowd":
		return w.crowd(int(words.Number(1)), words[2:])
	case name == "pace":
		return w.pace(words)
	case name == "locked":
		defer w.Lock(w.Generator)()
		w.Command(words[1:])
	case w.Commands[name] != nil:
		return w.Commands[name](w.Generator, words)
	default:
		w.T.Errorf("unknown command %q", words)
	}
	return "", nil
}

// openStory makes a generator. The others of the story stay open, as if they were in processes that
// were killed.
func (w *story) openStory(words testkit.Words) error {
	ctx, cancel := w.Context(words)
	defer cancel()
	w.cfg = w.configOf(words)
	w.put.Store(0)
	g, err := w.New(ctx, w.cfg)
	if err != nil {
		w.checkMistakes(err)
		return err
	}
	w.Generator = g
	w.T.Cleanup(func() { _ = g.Close() })
	clear(w.last)
	return nil
}

// configOf returns the Config of the command open.
func (w *story) configOf(words testkit.Words) Config {
	text, static := "28/12/17/4@1s", int64(-1)
	words.Set("layout", &text)
	words.Set("static", &static)
	layout, err := bitsalloc.ParseLayout(text)
	testkit.Must(w.T, err)
	age := 1000 * layout.Unit
	words.Set("age", &age)
	c := Config{Words: words, Policy: w.policy, Padded: w.padded}
	c.Settings = keeper.Settings{
		Layout:       layout,
		Epoch:        Start.Add(-age).In(zone),
		DatacenterID: w.number & (1<<layout.DatacenterBits - 1),
		Assigner:     w.store,
		AllowReuse:   slices.Contains(words, "reuse"),
		Logger:       w.Logger(),
		Now:          w.now,
		Trace: keeper.Trace{
			TakeRejected: func(uidring.TakeRejectedInfo) { w.Event("rejected", "rejected") },
			RenewFailed:  func(assigner.LeaseInfo) { w.Event("failed", "renewal failed") },
		},
	}
	words.Set("datacenter", &c.DatacenterID)
	words.Set("timeout", &c.AssignTimeout)
	words.Set("start", &c.StartTimeout)
	words.Set("policy", &c.Policy)
	for policy, name := range w.Policies {
		if slices.Contains(words, name) {
			c.Policy = policy
		}
	}
	switch {
	case static >= 0:
		c.Assigner = assigner.Static(static)
	case slices.Contains(words, "leased"):
		c.Assigner = assigner.Leased(nil, assigner.LeaseConfig{Window: -1})
	case slices.Contains(words, "unassigned"):
		c.Assigner = nil
	}
	return c
}

// padded is called after a padding pass.
func (w *story) padded(blocks int) {
	w.put.Add(int64(blocks))
	_ = w.Answer(w.T.Context(), "padded", nil)
}

// checkMistakes asks that Validate reports the mistakes of New, and no other error.
func (w *story) checkMistakes(err error) {
	want := ""
	if _, mistake := errors.AsType[*uidring.FieldError](err); mistake {
		want = err.Error()
	}
	if got := w.Validate(w.cfg); got == nil && want != "" || got != nil && got.Error() != want {
		w.T.Errorf("Validate = %v, and New = %v", got, err)
	}
}
