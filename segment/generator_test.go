package segment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
)

// open makes a generator of the counter a, with ranges of 10 unless cfg has a Step, that is closed
// when the test ends.
func open(t *testing.T, cfg segment.Config) *segment.Generator {
	t.Helper()
	cfg.Name = "a"
	if cfg.Step == 0 {
		cfg.Step, cfg.MaxStep = 10, 10
	}
	g, err := segment.New(cfg)
	return testkit.Close(t, g, err)
}

// take returns the next n IDs, which must be there.
func take(t *testing.T, g *segment.Generator, n int) (ids []int64) {
	t.Helper()
	for range n {
		id, err := g.Next()
		if err != nil {
			t.Fatalf("after %v: %v", ids, err)
		}
		ids = append(ids, id)
	}
	return ids
}

// upTo returns the numbers from first to last in steps of delta.
func upTo(first, last, delta int64) (ids []int64) {
	for id := first; id <= last; id += delta {
		ids = append(ids, id)
	}
	return ids
}

var policies = map[string]segment.EmptyPolicy{"FetchInline": segment.FetchInline, "Reject": segment.Reject}

func TestTakesAreDenseAndIncrease(t *testing.T) {
	for delta, want := range map[int64][]int64{1: upTo(1, 50, 1), 2: upTo(1, 99, 2), 7: upTo(3, 346, 7)} {
		g := open(t, segment.Config{Source: &scripted{delta: delta, remainder: delta / 2}})
		got, batch := take(t, g, 20), make([]int64, 25)
		n1, err1 := g.Fill(batch[:12])
		n2, err2 := g.FillContext(t.Context(), batch[12:])
		if err := errors.Join(err1, err2); n1+n2 != 25 || err != nil {
			t.Fatal(n1, n2, err)
		}
		got = append(got, batch...)
		for len(got) < 50 {
			first, n, err := g.Reserve(3)
			if want := map[bool]int{true: min(3, 50-len(got)), false: 1}[delta == 1]; n != want || err != nil {
				t.Fatalf("delta %d: Reserve = %d, %d, %v", delta, first, n, err)
			}
			got = append(got, upTo(first, first+int64(n)-1, 1)...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("delta %d: %v, want %v", delta, got, want)
		}
		if first, n, err := g.Reserve(0); first != 0 || n != 0 || err != nil {
			t.Errorf("Reserve(0) = %d, %d, %v", first, n, err)
		}
	}
}

// The store stops answering twice, when two ranges of 10 are in hand, and forgets commits the
// second time: callers will not get IDs again, so the log has both errors.
func TestNextInOutages(t *testing.T) {
	for name, policy := range policies {
		testkit.Bubble(t, name, func(t *testing.T) {
			var down atomic.Bool
			var log bytes.Buffer
			source := &scripted{before: while(&down)}
			g := open(t, segment.Config{OnEmpty: policy, Logger: slog.New(slog.NewTextHandler(&log, nil)), Source: source,
				Trace: segment.Trace{
					Fetched: func(f segment.FetchedInfo) {
						if want := (segment.Range{First: f.Range.Last - 9, Last: f.Range.Last, Increment: 1}); f.Range != want || f.Source != 0 || f.Took != 0 {
							t.Errorf("Fetched(%+v), want the range %v", f, want)
						}
						panic("in a func of Trace")
					},
				}})
			outage := func(first, last int64) {
				synctest.Wait()
				down.Store(true)
				if got := take(t, g, int(last-first+1)); !slices.Equal(got, upTo(first, last, 1)) {
					t.Errorf("IDs %v, want %d to %d", got, first, last)
				}
				synctest.Wait()
				for range 3 {
					if id, err := g.Next(); !errors.Is(err, segment.ErrEmpty) || !errors.Is(err, errDown) {
						t.Errorf("Next = %d, %v, want ErrEmpty with the error of the store", id, err)
					}
				}
			}
			recovers := func() (int64, error) {
				time.AfterFunc(time.Minute, func() { down.Store(false) })
				return g.NextContext(t.Context())
			}
			outage(1, 20)
			if s := g.Stats(); s.RejectedTakes != 3 || s.FetchFailures < 1 || !errors.Is(s.Sources[0].Err, errDown) || s.Remaining != 0 || s.Issued != 20 {
				t.Errorf("Stats %+v", s)
			}
			if id, err := recovers(); id != 21 || err != nil {
				t.Errorf("after the outage: ID %d, %v, want 21", id, err)
			}
			if s := g.Stats(); s.Sources[0].Err != nil {
				t.Errorf("Stats %+v: an error after the outage", s)
			}
			outage(22, 40)
			source.restore("a", 1)
			if id, err := recovers(); !errors.Is(err, segment.ErrWentBack) {
				t.Errorf("NextContext = %d, %v, want ErrWentBack", id, err)
			}
			synctest.Wait()
			text := log.String()
			if strings.Count(text, "level=WARN") != 3 || strings.Count(text, "level=INFO") != 1 || strings.Count(text, "went back") != 1 ||
				!strings.Contains(text, "counter=a source=0 remaining=") {
				t.Errorf("records of two outages, want a warning of each, one end, and a warning of the permanent error:\n%s", text)
			}
		})
	}
}

// Each call of the source takes a second, or ignores the end of its context as a call does that
// waits for a dead disk. All ranges are used up in no time.
func TestPoliciesForASlowStore(t *testing.T) {
	for name, tt := range map[string]struct {
		policy  segment.EmptyPolicy
		hangs   bool
		timeout time.Duration
		want    error
		text    string
		waits   time.Duration
		limit   time.Duration // of the context of NextContext
	}{
		"FetchInline":              {segment.FetchInline, false, 0, nil, "", time.Second, time.Millisecond},
		"the longest FetchTimeout": {segment.FetchInline, false, math.MaxInt64, nil, "", time.Second, time.Millisecond},
		"Reject":                   {segment.Reject, false, 0, segment.ErrEmpty, "", 0, time.Millisecond},
		"hangs":                    {segment.FetchInline, true, 3 * time.Second, segment.ErrEmpty, "no range has come within 4s", 4 * time.Second, time.Minute},
	} {
		testkit.Bubble(t, name, func(t *testing.T) {
			hung := make(chan struct{})
			defer close(hung)
			var calls atomic.Int64
			g := open(t, segment.Config{OnEmpty: tt.policy, FetchTimeout: tt.timeout, Source: &scripted{before: func(ctx context.Context, _ string, _ int64) error {
				switch {
				case calls.Add(1) <= 2:
				case tt.hangs:
					<-hung
				default:
					time.Sleep(time.Second)
				}
				return ctx.Err()
			}}})
			synctest.Wait()
			take(t, g, 20)
			began := time.Now()
			_, err := g.Next()
			if waited := time.Since(began); !errors.Is(err, tt.want) || waited != tt.waits || !strings.Contains(fmt.Sprint(err), tt.text) {
				t.Errorf("Next: %v after %v, want %v with %q after %v", err, waited, tt.want, tt.text, tt.waits)
			}
			if n, err := g.Fill(make([]int64, 15)); tt.want == nil && n != 15 || !errors.Is(err, tt.want) {
				t.Errorf("Fill: %d, %v", n, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
			defer cancel()
			began = time.Now()
			for err = nil; err == nil; {
				_, err = g.NextContext(ctx)
			}
			if waited := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, segment.ErrEmpty) || waited != tt.limit {
				t.Errorf("NextContext: %v after %v, want an error after %v", err, waited, tt.limit)
			}
		})
	}
}

// Each pause is drawn from the upper half of 20 ms, 40 ms and so on up to 1 s, in each outage anew.
func TestPausesBetweenRetriesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var last time.Time
		var pauses []time.Duration
		fails, failures := while(&down), int64(0)
		g := open(t, segment.Config{Source: &scripted{before: func(ctx context.Context, name string, n int64) error {
			pauses = append(pauses, time.Since(last))
			last = time.Now()
			err := fails(ctx, name, n)
			if err != nil {
				failures++
			}
			return err
		}}})
		for range 10 {
			synctest.Wait()
			pauses = nil
			down.Store(true)
			take(t, g, 20)
			time.Sleep(time.Minute)
			down.Store(false)
			time.Sleep(2 * time.Second)
			synctest.Wait()
			for i, pause := range pauses[1 : len(pauses)-1] { // the last call fetches the range ahead
				if most := min(20*time.Millisecond<<min(i, 10), time.Second); pause < most/2 || pause >= most {
					t.Errorf("pause %d was %v, want %v to %v", i, pause, most/2, most)
				}
			}
		}
		if got := g.Stats().FetchFailures; got != failures {
			t.Errorf("Stats: %d failures, want %d", got, failures)
		}
	})
}

// Ranges last 16 minutes. The store answers again just before the last ID of each, and then fails
// for an hour without IDs.
func TestSizeOfRangesStaysInOutages(t *testing.T) {
	for name, cfg := range map[string]segment.Config{"to more": {Step: 16, MaxStep: 1600}, "to less": {Step: 1, MaxStep: 16}} {
		testkit.Bubble(t, name, func(t *testing.T) {
			var down atomic.Bool
			source := &scripted{before: while(&down)}
			cfg.Source = source
			g := open(t, cfg)
			minutes := func(n int, failing bool) {
				for id := range n {
					down.Store(failing)
					take(t, g, 1)
					time.Sleep(58 * time.Second)
					down.Store(failing && id%16 < 14)
					time.Sleep(2 * time.Second)
				}
			}
			minutes(64, false)
			before := len(source.calls())
			minutes(64, true)
			down.Store(true)
			for range g.Stats().Remaining {
				take(t, g, 1)
				time.Sleep(time.Minute)
			}
			time.Sleep(time.Hour)
			down.Store(false)
			time.Sleep(time.Second) // until the next retry
			minutes(40, false)      // two ranges end
			if sizes := source.calls()[before:]; slices.Min(sizes) != 16 || slices.Max(sizes) != 16 {
				t.Errorf("ranges of %v IDs, want 16 as before", sizes)
			}
		})
	}
}

// No ID was issued: a snapshot beside Close must not count the dropped IDs as issued.
func TestStatsBesideCloseCountNoDroppedIDAsIssued(t *testing.T) {
	for range 50 {
		g, err := segment.New(segment.Config{Name: "a", Source: new(scripted), Step: 1, MaxStep: 1, Prefetch: 64})
		testkit.Close(t, g, err)
		for g.Stats().Remaining < 65 {
		}
		go g.Close()
		for s := g.Stats(); s.Retired < 65; s = g.Stats() {
			if s.Issued != 0 {
				t.Fatalf("Stats %+v: no ID was issued", s)
			}
		}
	}
}

// Callers use up ranges faster than the store answers, so that the generator never has Prefetch
// ready.
func TestRangesGrowForCallersThatOutrunTheStore(t *testing.T) {
	for _, ahead := range []int{1, 64} {
		synctest.Test(t, func(t *testing.T) {
			s := &scripted{before: func(context.Context, string, int64) error { time.Sleep(20 * time.Millisecond); return nil }}
			g, err := segment.New(segment.Config{Name: "a", Source: s, Prefetch: ahead})
			testkit.Close(t, g, err)
			for end := time.Now().Add(4 * time.Second); time.Now().Before(end); {
				if _, _, err := g.Reserve(math.MaxInt); err != nil {
					t.Fatal(err)
				}
			}
			calls := s.calls()
			for i, size := range calls[1:] {
				if size > 2*calls[i] {
					t.Errorf("a range of %d IDs after one of %d, want it doubled at most", size, calls[i])
				}
			}
			if first := calls[:ahead+1]; slices.Max(first) != 1000 || slices.Max(calls) != 1_000_000 || len(calls) < 150 {
				t.Errorf("Prefetch %d: ranges of %v numbers, want the default, 1,000, until one has ended, and then up to MaxStep", ahead, calls)
			}
		})
	}
}

// A source that returns a wrong range ends the generator when the good ranges are used up, and is
// not asked again.
func TestWrongRangesEndTheGenerator(t *testing.T) {
	for name, tt := range map[string]struct {
		ranges []segment.Range // the first one is good
		want   error
	}{
		"went back":   {[]segment.Range{{First: 100, Last: 109}, {First: 90, Last: 99}}, segment.ErrWentBack},
		"overlap":     {[]segment.Range{{First: 100, Last: 109}, {First: 109, Last: 118}}, segment.ErrWentBack},
		"zero":        {[]segment.Range{{First: 100, Last: 109}, {}}, segment.ErrInvalidRange},
		"order":       {[]segment.Range{{First: 100, Last: 109}, {First: 120, Last: 119}}, segment.ErrInvalidRange},
		"steps":       {[]segment.Range{{First: 100, Last: 109}, {First: 110, Last: 119, Increment: 2}}, segment.ErrInvalidRange},
		"delta":       {[]segment.Range{{First: 100, Last: 109}, {First: 110, Last: 128, Increment: 2}}, segment.ErrInvalidRange},
		"remainder":   {[]segment.Range{{First: 100, Last: 118, Increment: 2}, {First: 121, Last: 139, Increment: 2}}, segment.ErrInvalidRange},
		"negative":    {[]segment.Range{{First: 100, Last: 109}, {First: 110, Last: 119, Increment: -1}}, segment.ErrInvalidRange},
		"used up":     {[]segment.Range{{First: 100, Last: 109}}, segment.ErrExhausted},
		"the largest": {[]segment.Range{{First: 9223372036854775798, Last: 9223372036854775807}}, segment.ErrExhausted},
	} {
		testkit.Bubble(t, name, func(t *testing.T) {
			s := &listed{ranges: tt.ranges}
			g := open(t, segment.Config{Source: s})
			first := tt.ranges[0]
			l := g.Lane()
			for i := range first.Len() {
				if id, err := l.Next(); id != first.First+i*max(first.Increment, 1) || err != nil {
					t.Fatalf("ID %d of range %v: %d, %v", i, first, id, err)
				}
			}
			synctest.Wait()
			for range 2 {
				_, err := g.NextContext(t.Context())
				id, laneErr := l.Next()
				if !errors.Is(err, tt.want) || errors.Is(err, segment.ErrEmpty) || id != 0 || !errors.Is(laneErr, tt.want) {
					t.Errorf("NextContext: %v, Next of the lane: %d, %v, want %v", err, id, laneErr, tt.want)
				}
				time.Sleep(time.Hour)
			}
			if calls := s.calls.Load(); calls != 2 {
				t.Errorf("the source was called %d times, want 2", calls)
			}
		})
	}
}

// A listed source returns the ranges of a list.
type listed struct {
	ranges []segment.Range
	calls  atomic.Int64
}

func (l *listed) Advance(context.Context, string, int64) (segment.Range, error) {
	if i := int(l.calls.Add(1)) - 1; i < len(l.ranges) {
		return l.ranges[i], nil
	}
	return segment.Range{}, segment.ErrExhausted
}

func TestSeveralSourcesTakeTurnsAndReplaceEachOther(t *testing.T) {
	for _, n := range []int64{2, 3} { // sources
		synctest.Test(t, func(t *testing.T) {
			down := make([]atomic.Bool, n)
			var sources []segment.Source
			for i := range down {
				sources = append(sources, &scripted{delta: n, remainder: int64(i), before: while(&down[i])})
			}
			down[n-1].Store(true)
			g := open(t, segment.Config{Source: sources[0], Others: sources[1:]})
			var all idset.Set
			count := func(ids int64) []int {
				by := make([]int, n)
				for range ids {
					id := take(t, g, 1)[0]
					all.Once(t, id)
					by[id%n]++
					synctest.Wait()
				}
				return by
			}
			if by := count(100 * (n - 1)); slices.Min(by[:n-1]) < 90 || by[n-1] > 0 {
				t.Errorf("IDs by remainder: %v, want about 100 of each but the last", by)
			}
			for i := range down {
				down[i].Store(true)
			}
			count(g.Stats().Remaining)
			if _, err := g.Next(); !errors.Is(err, segment.ErrEmpty) {
				t.Errorf("without any source: %v", err)
			}
			for i := range down {
				down[i].Store(false)
			}
			time.Sleep(10 * time.Second)
			if by := count(100 * n); slices.Min(by) < 90 {
				t.Errorf("IDs by remainder: %v, want about 100 each", by)
			}
		})
	}
}

// The ranges of two sources are used up, and neither has another one.
func TestErrorsOfTwoSources(t *testing.T) {
	down, ended, slow := errDown, segment.ErrExhausted, error(nil)
	for name, tt := range map[string]struct{ a, b error }{
		"slow and slow":   {slow, slow},
		"slow and down":   {slow, down},
		"ended and slow":  {ended, slow},
		"down and ended":  {down, ended},
		"ended and ended": {ended, ended},
	} {
		testkit.Bubble(t, name, func(t *testing.T) {
			var over atomic.Bool
			source := func(remainder int64, err error) segment.Source {
				return &scripted{delta: 2, remainder: remainder, before: func(ctx context.Context, _ string, _ int64) error {
					switch {
					case !over.Load():
						return nil
					case err == slow:
						<-ctx.Done()
					}
					return err
				}}
			}
			g := open(t, segment.Config{Source: source(0, tt.a), Others: []segment.Source{source(1, tt.b)}, OnEmpty: segment.Reject, FetchTimeout: time.Hour})
			synctest.Wait()
			over.Store(true)
			take(t, g, 40)
			synctest.Wait()
			_, err := g.Next()
			if passes := tt.a != ended || tt.b != ended; errors.Is(err, segment.ErrEmpty) != passes || strings.Contains(err.Error(), "%!") {
				t.Errorf("error %v, want ErrEmpty: %t", err, passes)
			}
			for _, reason := range []error{down, ended} {
				if want := tt.a == reason || tt.b == reason; errors.Is(err, reason) != want {
					t.Errorf("error %v, want %v: %t", err, reason, want)
				}
			}
		})
	}
}

// Another process might begin with the other source, and issue the same IDs.
func TestSourcesThatDoNotFitAreRefused(t *testing.T) {
	type numbers struct{ delta, remainder int64 }
	for name, tt := range map[string]struct{ a, b numbers }{
		"same remainder":  {numbers{2, 0}, numbers{2, 0}},
		"dense":           {numbers{}, numbers{}},
		"other delta":     {numbers{2, 1}, numbers{4, 3}},
		"they never meet": {numbers{4, 1}, numbers{6, 2}}, // but would after the next change
	} {
		testkit.Bubble(t, name, func(t *testing.T) {
			var down atomic.Bool
			b := &scripted{delta: tt.b.delta, remainder: tt.b.remainder, before: while(&down)}
			cfg := segment.Config{Name: "a", Source: &scripted{delta: tt.a.delta, remainder: tt.a.remainder}, Others: []segment.Source{b}}
			if _, err := segment.New(cfg); !errors.Is(err, segment.ErrInvalidRange) {
				t.Errorf("New: %v, want ErrInvalidRange", err)
			}
			n, err := segment.NewNumbers(segment.NumbersConfig{Counter: cfg})
			testkit.Close(t, n, err)
			for range 2 {
				if text, err := n.Next(t.Context()); !errors.Is(err, segment.ErrInvalidRange) {
					t.Errorf("Numbers: %q, %v, want ErrInvalidRange", text, err)
				}
			}
			down.Store(true)
			g, err := segment.New(cfg)
			if tt.a.delta == 0 { // too small for two sources: refused without the other one
				if !errors.Is(err, segment.ErrInvalidRange) {
					t.Errorf("New without the other source: %v, want ErrInvalidRange", err)
				}
				return
			}
			testkit.Close(t, g, err)
			down.Store(false)
			time.Sleep(time.Second)
			for range 3 * 1000 {
				if _, err = g.Next(); err != nil {
					break
				}
			}
			if !errors.Is(err, segment.ErrInvalidRange) || errors.Is(err, segment.ErrEmpty) {
				t.Errorf("after the ranges in hand: %v, want ErrInvalidRange", err)
			}
		})
	}
}

// A source that hangs delays New by FetchTimeout, or until its context ends. It fails no call if
// there is another one, even if that comes and goes.
func TestNewWithASourceThatFails(t *testing.T) {
	hung := make(chan struct{})
	for name, tt := range map[string]struct {
		call           func(context.Context) error
		limit, timeout time.Duration // of the context of New, and of Config
		waits          time.Duration
		want           error // without another source; nil: New waits for the source
		text           string
	}{
		"hangs for the default":        {hangs, time.Hour, 0, 5 * time.Second, segment.ErrEmpty, "context deadline exceeded"},
		"hangs until the context ends": {hangs, time.Second, 3 * time.Second, time.Second, context.DeadlineExceeded, `counter "a": no first range`},
		"ignores its context":          {func(context.Context) error { <-hung; return errDown }, time.Hour, 3 * time.Second, 4 * time.Second, nil, ""},
		"fails":                        {func(context.Context) error { return errDown }, time.Hour, 3 * time.Second, 0, errDown, ""},
		"panics":                       {func(context.Context) error { panic("oh") }, time.Hour, 3 * time.Second, 0, segment.ErrEmpty, "panicked"},
	} {
		testkit.Bubble(t, name, func(t *testing.T) {
			hung = make(chan struct{})
			cfg := segment.Config{FetchTimeout: tt.timeout, Name: "a", Step: 10, MaxStep: 10,
				Source: &scripted{delta: 2, before: func(ctx context.Context, _ string, _ int64) error { return tt.call(ctx) }}}
			start := func() (*segment.Generator, error) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				began := time.Now()
				g, err := segment.NewContext(ctx, cfg)
				if waited := time.Since(began); waited != tt.waits {
					t.Errorf("NewContext: %v after %v, want it after %v", err, waited, tt.waits)
				}
				return g, err
			}
			if tt.want != nil {
				_, err := start()
				if ended := tt.limit == tt.waits; !errors.Is(err, segment.ErrEmpty) || errors.Is(err, context.DeadlineExceeded) != ended || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("NewContext: %v, want ErrEmpty, and %v with %q", err, tt.want, tt.text)
				}
			}
			cfg.Others = []segment.Source{&scripted{delta: 2, remainder: 1}}
			g, err := start()
			close(hung)
			testkit.Close(t, g, err)
			began := time.Now()
			if got := take(t, g, 30); !slices.Equal(got, upTo(1, 59, 2)) || time.Since(began) > 0 {
				t.Errorf("IDs %v after %v, want 1, 3 and so on at once", got, time.Since(began))
			}
		})
	}
}

// hangs is a call of a source that does not answer.
func hangs(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// Close wakes callers that wait, and waits for a call of the source. Its error counts as none of
// the source, and its range is dropped.
func TestCloseDuringACallOfTheSource(t *testing.T) {
	for name, fails := range map[string]bool{"fails": true, "returns a range": false} {
		for policyName, policy := range policies {
			testkit.Bubble(t, name+", "+policyName, func(t *testing.T) {
				var calls atomic.Int64
				g := open(t, segment.Config{OnEmpty: policy, Source: &scripted{before: func(ctx context.Context, _ string, _ int64) error {
					if calls.Add(1) == 1 {
						return nil
					}
					<-ctx.Done()
					if fails {
						return ctx.Err()
					}
					time.Sleep(time.Second)
					return nil
				}}})
				synctest.Wait()
				l := g.Lane()
				if id, err := l.Next(); id != 1 || err != nil { // the lane has 2 to 10
					t.Fatal(id, err)
				}
				began := time.Now()
				go func() {
					if _, err := g.NextContext(t.Context()); !errors.Is(err, segment.ErrClosed) || time.Since(began) > 0 {
						t.Errorf("NextContext: %v after %v, want ErrClosed at once", err, time.Since(began))
					}
				}()
				synctest.Wait()
				testkit.Must(t, g.Close())
				_, err := g.Next()
				_, fillErr := g.Fill(make([]int64, 1))
				_, laneErr := l.Next()
				for _, err := range []error{err, fillErr, laneErr} {
					if !errors.Is(err, segment.ErrClosed) {
						t.Errorf("after Close: %v", err)
					}
				}
				fetches := map[bool]int64{true: 1, false: 2}[fails]
				if s := g.Stats(); s.Fetches != fetches || s.FetchFailures != 0 || s.Issued != 10 || s.Retired != 10*fetches-10 || s.Remaining != 0 || s.RejectedTakes != 0 {
					t.Errorf("Stats %+v, want %d ranges with 10 IDs issued and the rest dropped", s, fetches)
				}
			})
		}
	}
}

// Goroutines take IDs in all ways at once, of one source and of two.
func TestTakesOfGoroutines(t *testing.T) {
	for _, cfg := range []segment.Config{
		{Source: new(scripted), MaxStep: 4096, Step: 16, Prefetch: 3},
		{Source: &scripted{delta: 2}, Others: []segment.Source{&scripted{delta: 2, remainder: 1}}},
	} {
		g := open(t, cfg)
		var all idset.Set
		testkit.Together(9, func(i int) {
			l, last, ids := g.Lane(), int64(0), make([]int64, 7)
			for range 500 {
				var err error
				n := 1
				switch i % 3 {
				case 0:
					n, err = g.Fill(ids)
				case 1:
					ids[0], err = g.Next()
				case 2:
					ids[0], err = l.Next()
				}
				if err != nil {
					t.Error(err)
				}
				if len(cfg.Others) == 0 && (ids[0] <= last || !slices.IsSorted(ids[:n])) {
					t.Errorf("IDs %v after %d", ids[:n], last)
				}
				last = ids[n-1]
				all.Once(t, ids[:n]...)
			}
		})
		if want := 3*500*7 + 6*500; all.Len() != want {
			t.Errorf("%d IDs, want %d", all.Len(), want)
		}
	}
}
