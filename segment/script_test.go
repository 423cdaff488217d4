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
	"testing"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
)

// TestScripts runs the scripts in testdata. A paragraph is a [scripts.Story] of one counter, with
// ranges of 10 numbers. It runs for each EmptyPolicy, with the same answers, unless it names a
// policy.
//
// These commands prepare a story:
//
//	sources 2/0 2/1              increment and remainder of each source, which are named a, b and so on;
//	                             or none
//	on a ok / range 90 99 2 / fail away / hang / try down; hang / waste / hold / panic
//	deaf                         has the sources ignore the end of their contexts
//	show records                 shows log records and calls of Trace.Fetched from now on
//	restore 1                    sets the counter back, as a restored backup does
//	at 2026-11-22T00:00:00       sets the clock of Numbers; in a story that does not begin so they have
//	                             the system's
//
// waste moves the counter, waits for the end of the context, and fails with its error.
//
// These commands are under test:
//
//	open reject timeout=3s step=1 maxstep=8 prefetch=2 start=1m panics   New
//	open within=1s                          NewContext with a time limit
//	take, fill, reserve and wait            see Take
//	numbers daily prefix=ORD- separator=- width=6 location=Europe/Berlin timeout=3s step=1
//	number 1m                               Next of Numbers with a time limit
//	invalidate, close, recover 25, stats, counters
//	check name=a others=1 step=-1           Validate and New of a Config with these fields and the first
//	                                        source, or of a NumbersConfig after "check numbers"
func TestScripts(t *testing.T) { scripts.Stories(t, int(segment.Reject)+1, newScript) }

// A script is the world of a paragraph.
type script struct {
	*scripts.Story
	sources []segment.Source
	deaf    bool      // the sources do not look at their contexts
	clock   time.Time // of Numbers

	generator *segment.Generator
	numbers   *segment.Numbers
	opened    interface { // one of them
		Stats() segment.Stats
		Invalidate()
		Close() error
	}
}

func newScript(s *scripts.Story) {
	w := &script{Story: s}
	s.Do, s.Sentinels = w.do, sentinels
	s.Failures = map[string]error{"down": errDown, "away": &net.DNSError{Err: "away"}, "exhausted": segment.ErrExhausted}
	w.setSources(testkit.Words{"1/0"})
}

func (w *script) setSources(words testkit.Words) {
	w.sources = nil
	for i, word := range words {
		if word == "none" {
			w.sources = []segment.Source{nil}
			break
		}
		s := &answering{script: w, name: string(rune('a' + i))}
		_, _ = fmt.Sscanf(word, "%d/%d", &s.delta, &s.remainder)
		w.sources = append(w.sources, s)
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
	s.before = func(context.Context, string, int64) error {
		return s.Answer(ctx, s.name, func(words testkit.Words) bool {
			switch words.Arg(0) {
			case "range":
				given = &segment.Range{First: words.Number(1), Last: words.Number(2)}
				if words.Arg(3) != "" {
					given.Increment = words.Number(3)
				}
			case "waste":
				wasted = true
			case "panic":
				panic("oh")
			default:
				return false
			}
			return true
		})
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

// do makes a command.
func (w *script) do(words testkit.Words) (string, error) {
	switch words.Arg(0) {
	case "sources":
		w.setSources(words[1:])
	case "deaf":
		w.deaf = true
	case "restore":
		w.sources[0].(*answering).restore("a", words.Number(1))
	case "at":
		w.clock, _ = time.Parse("2006-01-02T15:04:05", words.Arg(1))
	case "open":
		return "", w.open(words)
	case "take", "fill", "reserve", "wait":
		ids, err := w.Take(w.generator, func() func() (int64, error) { return w.generator.Lane().Next }, words)
		return w.list(ids), err
	case "numbers":
		return "", w.openNumbers(words)
	case "number":
		ctx, cancel := w.Context(testkit.Words{"within=" + words.Arg(1)})
		defer cancel()
		return w.numbers.Next(ctx)
	case "invalidate":
		w.opened.Invalidate()
	case "close":
		return "", w.opened.Close()
	case "recover":
		defer slog.SetDefault(slog.Default())
		slog.SetDefault(w.Logger())
		return "", segment.Recover(w.T.Context(), w.sources[0], "a", words.Number(1))
	case "check":
		w.check(words)
	case "stats":
		return stats(w.opened.Stats()), nil
	case "counters":
		return strings.Join(w.sources[0].(*answering).names(), " "), nil
	default:
		w.T.Errorf("unknown command %q", words)
	}
	return "", nil
}

// config returns the Config of the commands open and numbers.
func (w *script) config(words testkit.Words) segment.Config {
	cfg := segment.Config{Name: "a", Source: w.sources[0], Others: w.sources[1:], Step: 10, MaxStep: 10, OnEmpty: segment.EmptyPolicy(w.Policy), Logger: w.Logger()}
	cfg.Trace.Fetched = func(f segment.FetchedInfo) {
		w.Event("records", "fetched %v of source %d in %v", f.Range, f.Source, f.Took)
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
	var others int
	c := &cfg.Counter
	for name, to := range map[string]any{
		"name": &c.Name, "step": &c.Step, "maxstep": &c.MaxStep, "lasts": &c.RangeLasts, "prefetch": &c.Prefetch, "timeout": &c.FetchTimeout, "start": &c.StartTimeout,
		"policy": &c.OnEmpty, "others": &others, "period": &cfg.Period, "width": &cfg.Width,
	} {
		words.Set(name, to)
	}
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
		w.T.Errorf("%v, want a FieldError of each mistake; New: %v", err, errNew)
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		w.Print("  %s", strings.TrimPrefix(line, "uidring: invalid config: "))
	}
}

func (w *script) open(words testkit.Words) error {
	ctx, cancel := w.Context(words)
	defer cancel()
	var g *segment.Generator
	var err error
	if slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "within=") }) {
		g, err = segment.NewContext(ctx, w.config(words))
	} else {
		g, err = segment.New(w.config(words))
	}
	if err == nil {
		w.generator, w.opened = testkit.Close(w.T, g, nil), g
	}
	return err
}

var periods = map[string]segment.Period{"daily": segment.Daily, "monthly": segment.Monthly, "yearly": segment.Yearly, "forever": segment.Forever}

func (w *script) openNumbers(words testkit.Words) (err error) {
	cfg := segment.NumbersConfig{Counter: w.config(words), Period: periods[words.Arg(1)]}
	if !w.clock.IsZero() {
		cfg.Now = func() time.Time { return w.clock }
	}
	words.Set("prefix", &cfg.Prefix)
	words.Set("separator", &cfg.Separator)
	words.Set("width", &cfg.Width)
	location := "UTC"
	if words.Set("location", &location); location != "UTC" {
		cfg.Location, err = time.LoadLocation(location) // which every machine with Go has
		testkit.Must(w.T, err)
	}
	n, err := segment.NewNumbers(cfg)
	if err == nil {
		w.numbers, w.opened = testkit.Close(w.T, n, nil), n
	}
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
