package segment_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
)

// TestScripts runs the scripts in testdata, in fake time. A paragraph is a story of one counter,
// with ranges of 10 numbers: a title behind #, and commands behind >. Below a command the script
// has its IDs, its error, and how long it took if it took time. A story runs for each EmptyPolicy,
// with the same answers, unless it names a policy.
//
// These commands prepare a story:
//
//	sources 2/0 2/1              increment and remainder of each source, which are named a, b and so on;
//	                             or none
//	on a ok / range 90 99 2 / fail away / hang / retry; hang / late; ok / sleep 1s; ok / hold; ok / panic
//	deaf                         has the sources ignore the end of their contexts
//	log                          shows log records and calls of Trace.Fetched from now on
//	restore 1                    sets the counter back, as a restored backup does
//	every 1s                     is the pause after each ID of take
//	at 2026-11-22T00:00:00       sets the clock of Numbers; in a story without it they have the system's
//
// Each call of a source takes the next answer, and the last answer stays. hang, late and
// waste wait for the end of the context. hang returns its error, and so does waste, which has moved
// the counter. hold waits for the command go, or for "go a-20000101" in a call for that counter.
//
// These commands are under test:
//
//	open reject timeout=3s step=1 maxstep=8 prefetch=2 start=1m panics   New, also shows the time of RetryAfter
//	open within=1s                          NewContext with a time limit
//	take 20, fill 5, reserve 3, wait 1m     Next, Fill, Reserve, and NextContext with a time limit
//	take 20 l                               Next of a lane, which is made for "take 0 l"
//	numbers daily prefix=ORD- separator=- width=6 location=Europe/Berlin timeout=3s step=1
//	number 1m                               Next of Numbers with a time limit
//	invalidate, close, recover 25, sleep 1s, stats, counters
//	check name=a others=1 step=-1           Validate and New of a Config with these fields and the first
//	                                        source, or of a NumbersConfig after "check numbers"
//	beside wait 1m                          runs a command beside the following ones
func TestScripts(t *testing.T) {
	scripts.Run(t, func(t *testing.T, paragraph string) (first string) {
		for policy := range segment.Reject + 1 {
			synctest.Test(t, func(t *testing.T) {
				w := &script{t: t, policy: policy, lanes: make(map[string]*segment.Lane), clocked: strings.Contains(paragraph, "\n> at ")}
				w.step(testkit.Words{"sources", "1/0"})
				got := w.Run(paragraph, w.step)
				if w.opened != nil {
					testkit.Must(t, w.opened.Close())
				}
				if first = cmp.Or(first, got); got != first {
					t.Errorf("under policy %d:\n%s", policy, got)
				}
			})
		}
		return first
	})
}

// A script is the world of a paragraph.
type script struct {
	testkit.Script
	t       *testing.T
	policy  segment.EmptyPolicy
	logging bool
	pause   time.Duration    // after each ID of take
	events  testkit.Recorder // log records and calls of Trace
	results testkit.Recorder // of the commands since the last one was shown
	answers testkit.Answers  // of the sources, by name
	gates   sync.Map         // of channels, by counter: hold waits for them, and go closes them
	sources []segment.Source
	deaf    bool      // the sources do not look at their contexts
	clocked bool      // Numbers have a clock of the story
	clock   time.Time // of Numbers

	generator *segment.Generator
	lanes     map[string]*segment.Lane
	numbers   *segment.Numbers
	opened    interface { // one of them
		Stats() segment.Stats
		Invalidate()
		Close() error
	}
}

// An answering source is scripted by its name.
type answering struct {
	scripted
	*script
	name string
}

func (s *answering) Advance(ctx context.Context, name string, n int64) (segment.Range, error) {
	var given *segment.Range
	wasted := false
	if s.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	s.before = func(_ context.Context, name string, _ int64) error {
		for _, c := range s.answers.Next(s.name) {
			switch c.Arg(0) {
			case "range":
				given = &segment.Range{First: c.Number(1), Last: c.Number(2)}
				if c.Arg(3) != "" {
					given.Increment = c.Number(3)
				}
			case "fail":
				return map[string]error{"down": errDown, "away": &net.DNSError{Err: "away"}, "exhausted": segment.ErrExhausted}[c.Arg(1)]
			case "retry":
				storecall.Failed(ctx, errDown)
			case "hang":
				<-ctx.Done()
				return ctx.Err()
			case "late":
				<-ctx.Done()
			case "waste":
				wasted = true
			case "hold":
				<-s.gate(name)
			case "sleep":
				time.Sleep(c.Duration(1))
			case "panic":
				panic("oh")
			}
		}
		return nil
	}
	r, err := s.scripted.Advance(ctx, name, n)
	if wasted {
		<-ctx.Done()
		return r, ctx.Err()
	}
	if given != nil {
		return *given, nil
	}
	return r, err
}

// gate returns the channel that go closes for a counter.
func (w *script) gate(counter string) chan struct{} {
	gate, _ := w.gates.LoadOrStore(counter, make(chan struct{}))
	return gate.(chan struct{})
}

// step makes a command, and prints the results until all goroutines wait again.
func (w *script) step(words testkit.Words) {
	switch words.Arg(0) {
	case "sources":
		w.sources = nil
		for i, word := range words[1:] {
			if word == "none" {
				w.sources = []segment.Source{nil}
				break
			}
			s := &answering{script: w, name: string(rune('a' + i))}
			_, _ = fmt.Sscanf(word, "%d/%d", &s.delta, &s.remainder)
			w.sources = append(w.sources, s)
		}
	case "on":
		w.answers.Set(words.Arg(1), words[2:])
	case "go":
		close(w.gate(cmp.Or(words.Arg(1), "a")))
	case "deaf":
		w.deaf = true
	case "log":
		w.logging = true
	case "every":
		w.pause = words.Duration(1)
	case "restore":
		w.sources[0].(*answering).restore("a", words.Number(1))
	case "at":
		w.clock, _ = time.Parse("2006-01-02T15:04:05", words.Arg(1))
	case "sleep":
		time.Sleep(words.Duration(1))
	case "beside":
		go func() {
			result, _ := w.timed(words[1:]) // after a random pause of a source
			w.results.Note("%v: %s", words[1], cmp.Or(result, "done"))
		}()
	default:
		result, took := w.timed(words)
		if took > 0 {
			result = strings.TrimSpace(fmt.Sprintf("%s after %v", result, took))
		}
		if result != "" {
			w.results.Note("%s", result)
		}
	}
	synctest.Wait()
	results := w.results.Read()
	slices.Sort(results) // commands beside each other end in any order
	if w.Events(results); w.logging {
		w.Events(w.events.Read())
	}
}

// timed makes a command under test, and returns its result and the time that it took.
func (w *script) timed(words testkit.Words) (result string, took time.Duration) {
	began := time.Now()
	result, err := w.test(words)
	if err != nil {
		result = strings.TrimPrefix(result+"; error: "+w.text(err), "; ")
	}
	return result, time.Since(began)
}

// test makes a command under test.
func (w *script) test(words testkit.Words) (string, error) {
	switch words.Arg(0) {
	case "open":
		err := w.open(words)
		after, _ := uidring.RetryAfter(err)
		return strings.TrimPrefix(fmt.Sprint(after), "0s"), err
	case "take":
		return w.take(words)
	case "wait", "number":
		return w.wait(words)
	case "fill":
		ids := make([]int64, words.Number(1))
		n, err := w.generator.Fill(ids)
		return w.list(ids[:n]), err
	case "reserve":
		first, n, err := w.generator.Reserve(int(words.Number(1)))
		ids := make([]int64, n)
		for i := range ids {
			ids[i] = first + int64(i)
		}
		return w.list(ids), err
	case "numbers":
		return "", w.openNumbers(words)
	case "invalidate":
		w.opened.Invalidate()
		return "", nil
	case "close":
		return "", w.opened.Close()
	case "recover":
		defer slog.SetDefault(slog.Default())
		slog.SetDefault(w.events.TextLogger())
		return "", segment.Recover(w.t.Context(), w.sources[0], "a", words.Number(1))
	case "check":
		w.check(words)
		return "", nil
	case "stats":
		return stats(w.opened.Stats()), nil
	case "counters":
		return strings.Join(w.sources[0].(*answering).names(), " "), nil
	}
	w.t.Errorf("unknown command %q", words)
	return "", nil
}

// config returns the Config of the commands open and numbers.
func (w *script) config(words testkit.Words) segment.Config {
	cfg := segment.Config{Name: "a", Source: w.sources[0], Others: w.sources[1:], Step: 10, MaxStep: 10, OnEmpty: w.policy, Logger: w.events.TextLogger()}
	cfg.Trace.Fetched = func(f segment.FetchedInfo) {
		w.events.Note("fetched %v of source %d in %v", f.Range, f.Source, f.Took)
		if slices.Contains(words, "panics") {
			panic("in a func of Trace")
		}
	}
	for policy, name := range []string{"inline", "reject"} {
		if slices.Contains(words, name) {
			cfg.OnEmpty = segment.EmptyPolicy(policy)
		}
	}
	words.Set("timeout", &cfg.FetchTimeout)
	words.Set("start", &cfg.StartTimeout)
	words.Set("step", &cfg.Step)
	words.Set("step", &cfg.MaxStep)
	words.Set("maxstep", &cfg.MaxStep)
	words.Set("prefetch", &cfg.Prefetch)
	return cfg
}

// check shows the mistakes in a Config or a NumbersConfig, of which New must say the same.
func (w *script) check(words testkit.Words) {
	var cfg segment.NumbersConfig
	var policy, period, others int
	c := &cfg.Counter
	for name, to := range map[string]any{
		"name": &c.Name, "step": &c.Step, "maxstep": &c.MaxStep, "lasts": &c.RangeLasts, "prefetch": &c.Prefetch, "timeout": &c.FetchTimeout, "start": &c.StartTimeout,
		"policy": &policy, "others": &others, "period": &period, "width": &cfg.Width,
	} {
		words.Set(name, to)
	}
	c.OnEmpty, cfg.Period = segment.EmptyPolicy(policy), segment.Period(period)
	c.Source, c.Others = w.sources[0], slices.Repeat(w.sources[:1], others)
	err, errNew := c.Validate(), error(nil)
	if words.Arg(1) == "numbers" {
		var n *segment.Numbers
		err = cfg.Validate()
		if n, errNew = segment.NewNumbers(cfg); errNew == nil {
			_ = n.Close() // before there is a generator
		}
	} else if err != nil {
		_, errNew = segment.New(*c)
	}
	if err == nil && errNew == nil {
		return
	}
	first, ok := errors.AsType[*uidring.FieldError](err)
	if !ok || !errors.Is(err, segment.ErrInvalidConfig) || first.Error() != strings.Split(err.Error(), "\n")[0] || errNew.Error() != err.Error() {
		w.t.Errorf("%v, want a FieldError of each mistake; New: %v", err, errNew)
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		w.Print("  %s", strings.TrimPrefix(line, "uidring: invalid config: "))
	}
}

func (w *script) open(words testkit.Words) (err error) {
	var within time.Duration
	if words.Set("within", &within); within == 0 {
		w.generator, err = segment.New(w.config(words))
	} else {
		ctx, cancel := context.WithTimeout(w.t.Context(), within)
		defer cancel()
		w.generator, err = segment.NewContext(ctx, w.config(words))
	}
	if err == nil {
		w.opened = w.generator
	}
	return err
}

// take takes IDs of the generator or of a lane, until an error.
func (w *script) take(words testkit.Words) (string, error) {
	next := w.generator.Next
	if name := words.Arg(2); name != "" {
		if w.lanes[name] == nil {
			w.lanes[name] = w.generator.Lane()
		}
		next = w.lanes[name].Next
	}
	var ids []int64
	for range words.Number(1) {
		id, err := next()
		if err != nil {
			return w.list(ids), err
		}
		ids = append(ids, id)
		time.Sleep(w.pause)
	}
	return w.list(ids), nil
}

// wait calls NextContext, or Next of Numbers.
func (w *script) wait(words testkit.Words) (string, error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), words.Duration(1))
	defer cancel()
	if words.Arg(0) == "number" {
		return w.numbers.Next(ctx)
	}
	id, err := w.generator.NextContext(ctx)
	return strings.TrimPrefix(fmt.Sprint(id), "0"), err
}

var periods = map[string]segment.Period{"daily": segment.Daily, "monthly": segment.Monthly, "yearly": segment.Yearly, "forever": segment.Forever}

func (w *script) openNumbers(words testkit.Words) (err error) {
	cfg := segment.NumbersConfig{Counter: w.config(words), Period: periods[words.Arg(1)]}
	if w.clocked {
		cfg.Now = func() time.Time { return w.clock }
	}
	words.Set("prefix", &cfg.Prefix)
	words.Set("separator", &cfg.Separator)
	words.Set("width", &cfg.Width)
	location := "UTC"
	if words.Set("location", &location); location != "UTC" {
		cfg.Location, err = time.LoadLocation(location) // which every machine with Go has
		testkit.Must(w.t, err)
	}
	w.numbers, err = segment.NewNumbers(cfg)
	w.opened = w.numbers
	return err
}

func stats(s segment.Stats) string {
	failures := map[int64]string{0: "no failure", 1: "a failure"}[s.FetchFailures]
	var text strings.Builder
	fmt.Fprintf(&text, "%d fetches, %s, %d issued, %d dropped, %d remaining, %d rejected takes",
		s.Fetches, cmp.Or(failures, "several failures"), s.Issued, s.Retired, s.Remaining, s.RejectedTakes)
	for i, source := range s.Sources {
		if source.Err != nil {
			fmt.Fprintf(&text, ", source %d: %v", i, source.Err)
		}
	}
	return text.String()
}

// list writes IDs as ranges. The ranges of several sources come in any order.
func (w *script) list(ids []int64) string {
	if len(w.sources) > 1 {
		slices.Sort(ids)
	}
	var ranges []string
	for len(ids) > 0 {
		n, step := 1, int64(1)
		if len(ids) > 1 {
			step = ids[1] - ids[0]
		}
		for n < len(ids) && step > 0 && ids[n] == ids[n-1]+step {
			n++
		}
		text := fmt.Sprint(ids[0])
		if n > 1 {
			text = segment.Range{First: ids[0], Last: ids[n-1], Increment: step}.String()
		}
		ranges = append(ranges, text)
		ids = ids[n:]
	}
	return strings.Join(ranges, ", ")
}

// sentinels are the errors whose texts and errors.Is must agree.
var sentinels = []error{segment.ErrEmpty, segment.ErrWentBack, segment.ErrInvalidRange, segment.ErrExhausted, segment.ErrClosed, segment.ErrInvalidConfig, errDown}

func (w *script) text(err error) string {
	text := strings.ReplaceAll(err.Error(), "\n", "; ")
	for _, sentinel := range sentinels {
		if errors.Is(err, sentinel) != strings.Contains(text, sentinel.Error()) {
			w.t.Errorf("errors.Is(%v, %v) = %v", err, sentinel, errors.Is(err, sentinel))
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		text += " (the context of the caller)"
	}
	return text
}
