package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/internal/test/gentest"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestScripts runs the scripts in testdata. A paragraph is a [scripts.Story] of one Keeper. Below a
// command the script has the calls of the store, of hooks and of Trace, the log records, the error,
// "woken" if Changed has reported something, and the state if that is another one. Worker IDs count
// from 0.
//
// These commands prepare a story, and show nothing:
//
//	holder fenced 1 100 / fail down   is "on assign" with these answers, and open
//	on assign fenced 1 100 / sleep 1s; derived 1 / fail down    answers of the store, see gentest.Scripts
//	on renew to 120 / raise 0 / other / fail lost / ok
//	on release hang; fail down
//	expires 10s                       sets RenewWithin of leases
//	used 90, ahead 120                highest delta in a ring, and position if that is ahead of it
//	log, log off                      shows all keys and values of log records
//
// These commands drive the Keeper:
//
//	open within=25s timeout=1s unit=1ms maxahead=3 panics
//	close, invalidate, extend 120
//	resumed                           makes the hook Deltas call Invalidate once, as the user's clock may
//	time, window, shortage            show the clock of the lease, Window, and Shortage
//
// These drive the registry of the process, without a Keeper:
//
//	register a 9 17 zone              registers a grant of worker ID 9 from 17 on, without a fence; zone,
//	                                  layout, epoch or datacenter: of such another domain; fenced: with a fence
//	end a 100                         ends it after a use of delta 100
func TestScripts(t *testing.T) { scripts.Stories(t, 1, newScript) }

// A script is the world of a paragraph.
type script struct {
	*scripts.Story
	*rig
	logging bool            // whether records are shown with keys and values
	shown   string          // the state as last seen
	changed <-chan struct{} // of the last command

	domain        assigner.Domain // of the command register
	registrations map[string]*keeper.Registration
}

func newScript(s *scripts.Story) {
	r := newRig()
	w := &script{Story: s, rig: r, domain: ownDomain(), registrations: make(map[string]*keeper.Registration)}
	s.Do, s.Lines, s.Sentinels, s.Failures, s.Precision = w.do, w.lines, sentinels, failures, time.Second/2
	r.Recorder = &s.Results
	r.store.OnAssign = func(ctx context.Context, nth int, d assigner.Domain) (assigner.Grant, error) {
		w.Note("assign")
		g, _ := w.fresh(ctx, nth, d)
		return g, gentest.Answer(ctx, s, "assign", &g, 0)
	}
	r.store.OnRenew = func(ctx context.Context, g *assigner.Grant, used, want int64) error {
		w.Note("renew %d, %d to %d", g.WorkerID-r.first, used, want)
		return gentest.Answer(ctx, s, "renew", g, want)
	}
	r.store.OnRelease = func(ctx context.Context, g assigner.Grant, used int64) error {
		w.Note("release %d, %d", g.WorkerID-r.first, used)
		return gentest.Answer(ctx, s, "release", &g, 0)
	}
	r.store.OnAbandon = func(g assigner.Grant) { w.Note("abandon %d", g.WorkerID-r.first) }
}

var (
	worker = regexp.MustCompile(`\b1\d{8}\b`)
	record = regexp.MustCompile(`^level=(\w+) msg=(?:"([^"]*)"|(\w+)).*`)
)

// lines returns the events of a command, with "woken" and the state if there is another one.
func (w *script) lines(_ testkit.Words, lines []string) []string {
	select {
	case <-w.changed:
		lines = append(lines, "woken")
	default:
	}
	if text := w.state(); text != w.shown {
		lines = append(lines, text)
		w.shown = text
	}
	if w.Keeper != nil {
		w.changed = w.Changed()
	}
	for i, line := range lines {
		if !w.logging {
			line = record.ReplaceAllString(line, "$1 $2$3")
		}
		lines[i] = worker.ReplaceAllStringFunc(line, func(id string) string {
			n, _ := strconv.ParseInt(id, 10, 64)
			return fmt.Sprint(n - w.first)
		})
	}
	return lines
}

// state describes the state, as Current and Latest return it.
func (w *script) state() string {
	if w.Keeper == nil {
		return ""
	}
	s := w.Latest()
	if current := w.Current(); (s.Phase != keeper.None) != (current == s) {
		w.T.Errorf("Current = %+v, Latest = %+v", w.Current(), s)
	}
	if !s.Fenced() && s.Phase == keeper.Held && s.Half < 1<<61 {
		w.T.Errorf("without a fence, half of the grant is used at delta %d", s.Half)
	}
	text := fmt.Sprintf("lease %d: worker %d from %d", s.Generation, s.WorkerID, s.First)
	switch {
	case s.Phase == keeper.None:
		return "no lease"
	case s.Phase == keeper.Lost && s.Half != math.MaxInt64:
		w.T.Errorf("Half = %d after a loss", s.Half)
	case s.Phase == keeper.Lost:
		return fmt.Sprintf("%s to %d, lost", text, s.Last)
	case s.Last == assigner.Unlimited:
		return text + " on"
	}
	return fmt.Sprintf("%s to %d, half %d", text, s.Last, s.Half)
}

// failures are the errors of the store.
var failures = map[string]error{
	"down":        errors.New("connection refused"),
	"away":        storecall.Away{Err: errors.New("the network is down")},
	"lost":        fmt.Errorf("%w: row 1 has been taken over", assigner.ErrWorkerRowLost),
	"regressed":   errors.Join(assigner.ErrWorkerRowLost, leasestore.ErrFenceRegressed),
	"missing":     errors.Join(assigner.ErrWorkerRowLost, leasestore.ErrRowMissing),
	"undurable":   leasestore.ErrNotDurable,
	"late":        context.DeadlineExceeded,
	"canceled":    context.Canceled,
	"exhausted":   assigner.ErrWorkersExhausted,
	"quarantined": fmt.Errorf("%w: the store is another one", assigner.ErrQuarantined),
}

// sentinels are the errors whose texts and errors.Is must agree.
var sentinels = []error{uidring.ErrLeaseExhausted, assigner.ErrWorkersExhausted, assigner.ErrQuarantined,
	assigner.ErrWorkerInUse, leasestore.ErrNotDurable}

// do makes a command.
func (w *script) do(words testkit.Words) (result string, err error) {
	switch words.Arg(0) {
	case "holder":
		w.Command(append(testkit.Words{"on", "assign"}, words[1:]...))
		testkit.Must(w.T, w.start(nil))
		synctest.Wait()
		w.Read()
		w.shown = w.state()
	case "expires":
		w.store.Within = words.Duration(1)
	case "used":
		w.used.Store(words.Number(1))
	case "ahead":
		w.ahead.Store(words.Number(1))
	case "log":
		w.logging = words.Arg(1) != "off"
	case "resumed":
		w.deltas = func() {
			w.deltas = func() {}
			w.Invalidate()
		}
	case "register":
		return w.register(words)
	case "end":
		w.registrations[words.Arg(1)].End(words.Number(2))
	default:
		return w.drive(words)
	}
	return "", nil
}

// drive makes a command on the Keeper.
func (w *script) drive(words testkit.Words) (result string, err error) {
	switch words.Arg(0) {
	case "open":
		return "", w.start(words)
	case "close":
		return "", w.Close()
	case "invalidate":
		w.Invalidate()
	case "extend":
		w.Extend(words.Number(1))
	case "time":
		s := w.Latest()
		return fmt.Sprintf("clock %v, delta %d", s.Clock.Now().Sub(w.Alloc.Time(0)), s.Delta), nil
	case "window":
		left, lasts := w.Window()
		return fmt.Sprintf("window %v lasts %v", left, lasts), nil
	case "shortage":
		return "", w.Shortage()
	default:
		w.T.Errorf("unknown command %q", words)
	}
	return "", nil
}

// start opens the Keeper with the settings of the command open.
func (w *script) start(words testkit.Words) error {
	s := w.settings()
	s.Logger = w.TextLogger()
	now := s.Now
	s.Now = func() time.Time { return now().Add(w.Ahead()) }
	words.Set("timeout", &s.AssignTimeout)
	words.Set("unit", &s.Layout.Unit)
	words.Set("maxahead", &s.MaxAhead)
	if slices.Contains(words, "panics") {
		s.Trace.LeaseKept = func(assigner.LeaseInfo) { panic("a mistake") }
	}
	ctx, cancel := w.Context(words)
	defer cancel()
	err := w.startIn(ctx, s)
	if err == nil {
		w.T.Cleanup(func() { _ = w.Close() })
	}
	return err
}
