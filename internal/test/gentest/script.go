package gentest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// Scripts runs scripts in fake time: the files in testdata of the package under test, and of this
// package, which has the stories that the packages share. A paragraph is a story of one generator:
// a title behind #, and commands behind >. Below a command the script has its IDs, its error, and
// how long it took if it took time. A story runs with each policy of the package, with the same
// answers, unless it names a policy.
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
//	on padded ok / hold / ok                    calls of Trace.Padded; hold waits for the command go
//	show assign renew release rejected failed log    calls of the store and of Trace, log records
//	clock +1h                                   moves the user's clock
//	within 10s                                  sets RenewWithin of leases
//
// Each call takes the next answer, and the last answer stays. An answer is a list of commands. A
// grant is fenced, with First and Last, or derived, with First, and otherwise fresh; worker sets
// its worker ID. It may also be zero, except for the worker ID, or none. to sets the limit, and
// raise moves it so far beyond the delta wanted. hang waits for the end of the context, and fail
// returns one of the failures.
//
// These commands are under test:
//
//	open within=1m cancel=20s start=30s   NewContext within a time, which may be canceled, or New
//	open layout=28/0/10/4@1s age=24h datacenter=3 timeout=10s reuse    fields of the Config
//	open static=7, leased, unassigned     other assigners
//	open policy=1, or the name of a policy, and words of the package
//	take 20, fill 5, reserve 3            Next, Fill and Reserve
//	wait 1m, wait 1m fill 5, wait 1m reserve 3    NextContext, FillContext and ReserveContext within a time
//	take 20 l                             Next of a lane, which is made for its first use
//	pace 100 16 5s, pace 100 16 5s l      takes 16 IDs, and sleeps, 100 times
//	crowd 100 wait 1m                     takes IDs on so many goroutines
//	locked take 20                        runs a command while no IDs are prepared
//	beside sleep 1s; wait 1m              runs commands beside the following ones
//	stats Remaining LastDelta             fields of Stats
//	oldest                                the oldest delta that the store knows
//	invalidate, close, sleep 1s, and commands of the package
func Scripts(t *testing.T, subject Subject) {
	runScripts(t, subject)
	t.Run("shared", func(t *testing.T) {
		t.Chdir("../internal/test/gentest")
		runScripts(t, subject)
	})
}

func runScripts(t *testing.T, subject Subject) {
	scripts.Run(t, func(t *testing.T, paragraph string) (first string) {
		for policy := range subject.Policies {
			synctest.Test(t, func(t *testing.T) {
				w := newStory(t, &suite{subject, policy})
				got := w.Run(paragraph, func(words testkit.Words) {
					w.command(words)
					synctest.Wait()
					w.Events(w.results.Read())
					w.Events(w.events.Read())
				})
				for _, g := range w.opened {
					_ = g.Close()
				}
				if policy == 0 {
					first = got
				} else if got != first {
					t.Errorf("under policy %d:\n%s", policy, got)
				}
			})
		}
		return first
	})
}

// A story is the world of a paragraph.
type story struct {
	testkit.Script
	*suite
	t       *testing.T
	number  int64 // of the story
	store   *fakeassigner.Assigner
	answers testkit.Answers
	results testkit.Recorder // of commands
	events  testkit.Recorder
	shown   sync.Map     // kinds of events
	off     atomic.Int64 // nanoseconds that the user's clock is ahead
	put     atomic.Int64 // blocks
	gate    chan struct{}

	Generator // opened last
	cfg       Config
	opened    []Generator
	lanes     map[string]func() (int64, error)
	mu        sync.Mutex       // guards last
	last      map[string]int64 // the last ID of the stream, which has no name, and of each lane
}

// stories numbers the stories that have run. Each has a datacenter ID of its own, since the process
// remembers a worker ID.
var stories atomic.Int64

func newStory(t *testing.T, s *suite) *story {
	w := &story{suite: s, t: t, number: stories.Add(1), gate: make(chan struct{})}
	w.lanes, w.last = make(map[string]func() (int64, error)), make(map[string]int64)
	w.store = &fakeassigner.Assigner{
		OnAssign: func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
			if d.MaxAhead == math.MaxInt64 {
				w.note("assign", "assign")
			} else {
				w.note("assign", "assign, at most %d units ahead", d.MaxAhead)
			}
			g, _ := fakeassigner.Fresh(ctx, nth, d)
			return g, w.answer(ctx, "assign", &g, 0)
		},
		OnRenew: func(ctx context.Context, g *assigner.Grant, used, want int64) error {
			w.note("renew", "renew, used %d, wanted %d", used, want)
			return w.answer(ctx, "renew", g, want)
		},
		OnRelease: func(ctx context.Context, g assigner.Grant, used int64) error {
			w.note("release", "release, used %d", used)
			return w.answer(ctx, "release", &g, 0)
		},
	}
	return w
}

// note records an event of a kind that the story shows.
func (w *story) note(kind, format string, args ...any) {
	if _, shown := w.shown.Load(kind); shown {
		w.events.Note(format, args...)
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

// answer runs the next answer of the store.
func (w *story) answer(ctx context.Context, operation string, g *assigner.Grant, want int64) (err error) {
	for _, words := range w.answers.Next(operation) {
		switch words.Arg(0) {
		case "fenced":
			g.First, g.Last, g.Guarantee, g.Reusable = words.Number(1), words.Number(2), assigner.GuaranteeFenced, true
		case "derived":
			g.First, g.Guarantee, g.Reusable = words.Number(1), assigner.GuaranteeDerived, true
		case "worker":
			g.WorkerID = words.Number(1)
		case "to":
			g.Last = words.Number(1)
		case "raise":
			g.Last = max(g.Last, want+words.Number(1))
		case "hang":
			<-ctx.Done()
			err = ctx.Err()
		case "fail":
			err = failures[words.Arg(1)]
		case "zero":
			*g = assigner.Grant{WorkerID: 3}
		case "none":
			*g = assigner.Grant{}
		default:
			w.command(words)
		}
	}
	return err
}

// zone is the time zone of the user: errors have times in UTC.
var zone = time.FixedZone("", 3600)

// now is the user's clock.
func (w *story) now() time.Time {
	now := time.Now().Add(time.Duration(w.off.Load())).In(zone)
	for _, words := range w.answers.Next("read") {
		switch words.Arg(0) {
		case "at":
			now = time.Unix(words.Number(1), 0).In(zone)
		default:
			w.command(words)
		}
	}
	return now
}

// command makes a command, and records its result.
func (w *story) command(words testkit.Words) {
	if w.prepare(words) {
		return
	}
	began := time.Now()
	result, err := w.test(words)
	if err != nil {
		result = strings.TrimPrefix(result+"; error: "+w.text(err), "; ")
	}
	if took := time.Since(began); took > 0 && words.Arg(0) != "pace" {
		result = strings.TrimSpace(fmt.Sprintf("%s after %v", result, took))
	}
	if result != "" {
		w.results.Note("%s", result)
	}
}

// prepare makes a command that prepares a story. It returns false for another one.
func (w *story) prepare(words testkit.Words) bool {
	switch words.Arg(0) {
	case "on":
		w.answers.Set(words.Arg(1), words[2:])
	case "show":
		for _, kind := range words[1:] {
			w.shown.Store(kind, true)
		}
	case "clock":
		w.off.Add(int64(words.Duration(1)))
	case "within":
		w.store.Within = words.Duration(1)
	case "go":
		close(w.gate)
	case "hold":
		<-w.gate
	case "sleep":
		time.Sleep(words.Duration(1))
	case "ok":
	default:
		return false
	}
	return true
}

// test makes a command under test, and returns its result.
func (w *story) test(words testkit.Words) (result string, err error) {
	switch name := words.Arg(0); {
	case name == "open":
		return "", w.openStory(words)
	case w.Generator == nil:
		return "", errors.New("no generator is open")
	case name == "take", name == "fill", name == "reserve", name == "wait":
		ids, err := w.ids(words)
		return w.list(words.Arg(2), ids), err
	case name == "stats":
		return w.fields(words[1:]), nil
	case name == "oldest":
		return fmt.Sprint(w.store.Oldest.Load()), nil
	case name == "invalidate":
		w.Invalidate()
	case name == "close":
		return "", w.Close()
	case name == "beside":
		go func() {
			w.commands(words[1:])
			w.results.Note("done: %s", strings.Join(words[1:], " "))
		}()
	case name == "crowd":
		return w.crowd(int(words.Number(1)), words[2:])
	case name == "pace":
		return w.pace(words)
	case name == "locked":
		defer w.Lock(w.Generator)()
		w.command(words[1:])
	case w.Commands[name] != nil:
		return w.Commands[name](w.Generator, words)
	default:
		w.t.Errorf("unknown command %q", words)
	}
	return "", nil
}

// commands makes commands that are parted by ;.
func (w *story) commands(words testkit.Words) {
	for part := range strings.SplitSeq(strings.Join(words, " "), ";") {
		w.command(strings.Fields(part))
	}
}

// openStory makes a generator. The others of the story stay open, as if they were in processes that
// were killed.
func (w *story) openStory(words testkit.Words) error {
	within := 24 * time.Hour
	words.Set("within", &within)
	canceled := within + time.Second
	words.Set("cancel", &canceled)
	ctx, cancel := context.WithTimeout(w.t.Context(), within)
	defer cancel()
	defer time.AfterFunc(canceled, cancel).Stop()
	w.cfg = w.configOf(words)
	w.put.Store(0)
	g, err := w.New(ctx, w.cfg)
	if err != nil {
		w.checkMistakes(err)
		return err
	}
	w.Generator, w.opened = g, append(w.opened, g)
	clear(w.lanes)
	clear(w.last)
	return nil
}

// configOf returns the Config of the command open.
func (w *story) configOf(words testkit.Words) Config {
	text, static := "28/12/17/4@1s", int64(-1)
	words.Set("layout", &text)
	words.Set("static", &static)
	layout, err := bitsalloc.ParseLayout(text)
	testkit.Must(w.t, err)
	age := 1000 * layout.Unit
	words.Set("age", &age)
	c := Config{Words: words, Policy: w.policy, Padded: w.padded}
	c.Settings = keeper.Settings{
		Layout:       layout,
		Epoch:        Start.Add(-age).In(zone),
		DatacenterID: w.number & (1<<layout.DatacenterBits - 1),
		Assigner:     w.store,
		AllowReuse:   slices.Contains(words, "reuse"),
		Logger:       w.logger(),
		Now:          w.now,
		Trace: keeper.Trace{
			TakeRejected: func(uidring.TakeRejectedInfo) { w.note("rejected", "rejected") },
			RenewFailed:  func(assigner.LeaseInfo) { w.note("failed", "renewal failed") },
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
	for _, words := range w.answers.Next("padded") {
		w.command(words)
	}
}

// checkMistakes asks that Validate reports the mistakes of New, and no other error.
func (w *story) checkMistakes(err error) {
	want := ""
	if _, mistake := errors.AsType[*uidring.FieldError](err); mistake {
		want = err.Error()
	}
	if got := w.Validate(w.cfg); got == nil && want != "" || got != nil && got.Error() != want {
		w.t.Errorf("Validate = %v, and New = %v", got, err)
	}
}

// logger returns a logger that records level and message.
func (w *story) logger() *slog.Logger {
	if _, shown := w.shown.Load("log"); shown {
		return w.events.Logger()
	}
	return slog.New(slog.DiscardHandler)
}
