package keeper_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestScripts runs the scripts in testdata, in fake time. A paragraph is a story of one Keeper: a
// title behind #, and commands behind >. Below a command the script has the calls of the store and
// of hooks, the calls of Trace and the log records, "woken" if Changed has reported something, and
// the state if that is another one. "…" stands behind an event that comes again and again. Worker
// IDs count from 0.
//
// These commands prepare a story, and show nothing:
//
//	holder fenced 1 100 / fail down   is "on assign" with these answers, and open
//	on assign fenced 1 100; reusable / sleep 1s; derived 1 / fail down
//	on renew to 120 / raise / other / fail lost / ok
//	on release hang; fail down
//	expires 10s                       sets RenewWithin of leases
//	used 90, ahead 120                highest delta in a ring, and position if that is ahead of it
//	log, log off                      shows all keys and values of log records
//
// Each call of the store takes the next answer, and the last answer stays. An answer is a list of
// commands. A grant is fenced or lossy, with First and Last, or derived, with First, and otherwise
// fresh; reusable makes a fenced one Reusable. to, raise and other change the limit to a number or
// to the delta wanted, or the worker ID. hang waits for the end of the context, try fails a try
// that the store repeats, and fail returns an error: see failure.
//
// These commands drive the Keeper:
//
//	open within=25s timeout=1s unit=1ms maxahead=3 panics
//	close, invalidate, extend 120
//	sleep 30s
//	clock +1h                         moves the clock of the user
//	resumed                           makes the hook Deltas call Invalidate once, as the user's clock may
//	time, window, shortage            show the clock of the lease, Window, and Shortage
//
// These drive the registry of the process, without a Keeper:
//
//	register a 9 17 zone              registers a grant of worker ID 9 from 17 on, without a fence; zone,
//	                                  layout, epoch or datacenter: of such another domain; fenced: with a fence
//	end a 100                         ends it after a use of delta 100
func TestScripts(t *testing.T) {
	scripts.Run(t, func(t *testing.T, paragraph string) (got string) {
		bubble(t, func(t *testing.T, r *rig) {
			w := newScript(t, r)
			got = w.Run(paragraph, w.step)
		})
		return got
	})
}

// A script is the world of a paragraph.
type script struct {
	testkit.Script
	*rig
	t       *testing.T
	logging bool         // whether records are shown with keys and values
	off     atomic.Int64 // nanoseconds that the user's clock is ahead
	shown   string       // the state as last seen
	answers testkit.Answers

	domain        assigner.Domain // of the command register
	registrations map[string]*keeper.Registration
}

func newScript(t *testing.T, r *rig) *script {
	w := &script{rig: r, t: t, domain: ownDomain(), registrations: make(map[string]*keeper.Registration)}
	r.assign = func(ctx context.Context, nth int) (assigner.Grant, error) {
		w.Note("assign")
		g := w.fresh(nth)
		return g, w.answer(ctx, "assign", &g, 0)
	}
	r.renew = func(ctx context.Context, g *assigner.Grant, _, want int64) error {
		return w.answer(ctx, "renew", g, want)
	}
	r.release = func(ctx context.Context, _ int64) error { return w.answer(ctx, "release", nil, 0) }
	r.store.OnAbandon = func(g assigner.Grant) { w.Note("abandon %d", g.WorkerID-r.first) }
	return w
}

// answer runs the next answer of an operation.
func (w *script) answer(ctx context.Context, operation string, g *assigner.Grant, want int64) (err error) {
	for _, words := range w.answers.Next(operation) {
		switch c := (command{w, words}); c.Arg(0) {
		case "fenced":
			g.First, g.Last, g.Guarantee = c.Number(1), c.Number(2), assigner.GuaranteeFenced
		case "lossy":
			g.First, g.Last, g.Guarantee = c.Number(1), c.Number(2), assigner.GuaranteeLossy
		case "derived":
			g.First, g.Guarantee, g.Reusable = c.Number(1), assigner.GuaranteeDerived, true
		case "reusable":
			g.Reusable = true
		case "to":
			g.Last = c.Number(1)
		case "raise":
			g.Last = max(g.Last, want)
		case "other":
			g.WorkerID++
		case "hang":
			<-ctx.Done()
		case "try":
			storecall.Failed(ctx, c.failure())
		case "fail":
			err = c.failure()
		case "", "ok":
		default:
			c.drive()
		}
	}
	return err
}

// step makes a command, and prints the events until all goroutines wait again.
func (w *script) step(words testkit.Words) {
	var changed <-chan struct{}
	if w.Keeper != nil {
		changed = w.Changed()
	}
	c := command{w, words}
	if !c.prepare() && !c.show() && !c.register() {
		c.drive()
	}
	synctest.Wait()
	w.events()
	select {
	case <-changed:
		w.print("woken")
	default:
	}
	if text := w.state(); text != w.shown {
		w.print("%s", text)
		w.shown = text
	}
}

var (
	worker = regexp.MustCompile(`\b1\d{8}\b`)
	record = regexp.MustCompile(`^level=(\w+) msg=(?:"([^"]*)"|(\w+)).*`)
)

// print adds a line to the answer of a command.
func (w *script) print(format string, args ...any) { w.Note(format, args...); w.events() }

// events prints the events since the last call.
func (w *script) events() {
	lines := w.Read()
	for i, line := range lines {
		if !w.logging {
			line = record.ReplaceAllString(line, "$1 $2$3")
		}
		lines[i] = worker.ReplaceAllStringFunc(line, func(id string) string {
			n, _ := strconv.ParseInt(id, 10, 64)
			return fmt.Sprint(n - w.first)
		})
	}
	w.Events(lines)
}

// state describes the state, as Current and Latest return it.
func (w *script) state() string {
	if w.Keeper == nil {
		return ""
	}
	s := w.Latest()
	if current := w.Current(); (s.Phase != keeper.None) != (current == s) {
		w.t.Errorf("Current = %+v, Latest = %+v", w.Current(), s)
	}
	if !s.Fenced() && s.Phase == keeper.Held && s.Half < 1<<61 {
		w.t.Errorf("without a fence, half of the grant is used at delta %d", s.Half)
	}
	text := fmt.Sprintf("lease %d: worker %d from %d", s.Generation, s.WorkerID, s.First)
	switch {
	case s.Phase == keeper.None:
		return "no lease"
	case s.Phase == keeper.Lost && s.Half != math.MaxInt64:
		w.t.Errorf("Half = %d after a loss", s.Half)
	case s.Phase == keeper.Lost:
		return fmt.Sprintf("%s to %d, lost", text, s.Last)
	case s.Last == assigner.Unlimited:
		return text + " on"
	}
	return fmt.Sprintf("%s to %d, half %d", text, s.Last, s.Half)
}

// A command is a line of a script, or a part of an answer.
type command struct {
	*script
	testkit.Words
}

// failures are the errors that tell no time to wait.
var failures = map[string]error{
	"down":      errors.New("connection refused"),
	"away":      storecall.Away{Err: errors.New("the network is down")},
	"lost":      fmt.Errorf("%w: row 1 has been taken over", assigner.ErrWorkerRowLost),
	"regressed": errors.Join(assigner.ErrWorkerRowLost, leasestore.ErrFenceRegressed),
	"missing":   errors.Join(assigner.ErrWorkerRowLost, leasestore.ErrRowMissing),
	"undurable": leasestore.ErrNotDurable,
	"late":      context.DeadlineExceeded,
	"canceled":  context.Canceled,
}

// failure returns the error that a command names. One with a time passes after it.
func (c command) failure() error {
	switch c.Arg(1) {
	case "exhausted":
		return generator.Passing{Err: assigner.ErrWorkersExhausted, After: c.Duration(2)}
	case "quarantined":
		return generator.Passing{Err: fmt.Errorf("%w: the store is another one", assigner.ErrQuarantined), After: c.Duration(2)}
	}
	err := failures[c.Arg(1)]
	if err == nil {
		c.t.Errorf("%q: unknown error", c.Words)
	}
	return err
}

// prepare makes a command that prepares a step. It returns false for another one.
func (c command) prepare() bool {
	switch c.Arg(0) {
	case "holder":
		c.answers.Set("assign", c.Words[1:])
		testkit.Must(c.t, c.start(nil))
		synctest.Wait()
		c.Read()
		c.shown = c.state()
	case "on":
		c.answers.Set(c.Arg(1), c.Words[2:])
	case "expires":
		c.store.Within = c.Duration(1)
	case "used":
		c.used.Store(c.Number(1))
	case "ahead":
		c.ahead.Store(c.Number(1))
	case "log":
		c.logging = c.Arg(1) != "off"
	default:
		return false
	}
	return true
}

// drive makes a command that may also be part of an answer.
func (c command) drive() {
	switch c.Arg(0) {
	case "open":
		began := time.Now()
		c.fails(c.start(c.Words[1:]))
		if took := time.Since(began).Truncate(time.Second / 2); took > 0 {
			c.print("after %v", took)
		}
	case "close":
		c.fails(c.Close())
	case "invalidate":
		c.Invalidate()
	case "extend":
		c.Extend(c.Number(1))
	case "sleep":
		time.Sleep(c.Duration(1))
	case "clock":
		c.off.Add(int64(c.Duration(1)))
	case "resumed":
		c.deltas = func() {
			c.deltas = func() {}
			c.Invalidate()
		}
	default:
		c.t.Errorf("unknown command %q", c.Words)
	}
}

// show makes a command that shows something. It returns false for another one.
func (c command) show() bool {
	switch c.Arg(0) {
	case "time":
		s := c.Latest()
		c.print("clock %v, delta %d", s.Clock.Now().Sub(c.Alloc.Time(0)), s.Delta)
	case "window":
		left, lasts := c.Window()
		c.print("window %v lasts %v", left, lasts)
	case "shortage":
		c.fails(c.Shortage())
	default:
		return false
	}
	return true
}

// start opens the Keeper with the settings of the command open.
func (c command) start(words testkit.Words) error {
	s := c.settings()
	s.Logger = c.TextLogger()
	now := s.Now
	s.Now = func() time.Time { return now().Add(time.Duration(c.off.Load())) }
	words.Set("timeout", &s.AssignTimeout)
	words.Set("unit", &s.Layout.Unit)
	words.Set("maxahead", &s.MaxAhead)
	if slices.Contains(words, "panics") {
		s.Trace.LeaseKept = func(assigner.LeaseInfo) { panic("a mistake") }
	}
	within := 24 * time.Hour
	words.Set("within", &within)
	ctx, cancel := context.WithTimeout(c.t.Context(), within)
	defer cancel()
	err := c.startIn(ctx, s)
	if err == nil {
		c.t.Cleanup(func() { _ = c.Close() })
	}
	return err
}

// sentinels are the errors whose texts and errors.Is must agree.
var sentinels = []error{uidring.ErrLeaseExhausted, assigner.ErrWorkersExhausted, assigner.ErrQuarantined,
	assigner.ErrWorkerInUse, leasestore.ErrNotDurable}

// fails prints the events and the error of a call, and whether the error passes.
func (c command) fails(err error) {
	if c.events(); err == nil {
		return
	}
	text := "error: " + err.Error()
	for _, sentinel := range sentinels {
		if errors.Is(err, sentinel) != strings.Contains(text, sentinel.Error()) {
			c.t.Errorf("errors.Is(%v, %v) = %v", err, sentinel, errors.Is(err, sentinel))
		}
	}
	if after, passes := uidring.RetryAfter(err); passes {
		text += fmt.Sprintf(" (passes after %v)", after.Round(max(time.Second, min(after, time.Minute).Truncate(time.Minute)))) // some pauses are random
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		text += " (the end of the context)"
	}
	c.print("%s", text)
}
