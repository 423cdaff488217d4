package generator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/test/testkit"
)

// path returns a SlowPath of a generator that is open.
func path(changed func() <-chan struct{}, take func(n int) (int64, int, error)) *generator.SlowPath {
	return &generator.SlowPath{
		Name:     "test",
		Take:     func(_ context.Context, n int) (int64, int, error) { return take(n) },
		Changed:  changed,
		Rejected: func(err error) error { return err },
		Closer:   generator.NewCloser(),
	}
}

// A caller that has found no ID tries again before it waits: the block may have been put meanwhile.
func TestABlockPutJustBeforeTheWaitIsNotMissed(t *testing.T) {
	var changes generator.Notifier
	filled := false
	p := path(changes.Wait, func(int) (int64, int, error) {
		if filled {
			return 1, 1, nil
		}
		filled = true
		changes.Wake()
		return 0, 0, uidring.ErrEmpty
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if id, got, err := p.ReserveContext(ctx, 1); id != 1 || got != 1 || err != nil {
		t.Errorf("ReserveContext = %d, %d, %v, want the ID", id, got, err)
	}
}

// A caller tries again after the time of an error, and after a second if that is longer.
func TestWaitsEndWithoutAChange(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{0: 0, 300 * time.Millisecond: 300 * time.Millisecond, time.Hour: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var changes generator.Notifier
			began := time.Now()
			p := path(changes.Wait, func(n int) (int64, int, error) {
				if time.Since(began) < want {
					return 0, 0, generator.Passing{Err: io.EOF, After: after}
				}
				return 7, n, nil
			})
			if first, got, err := p.ReserveContext(t.Context(), 3); first != 7 || got != 3 || err != nil || time.Since(began) != want {
				t.Errorf("ReserveContext = %d, %d, %v after %v, want IDs after %v", first, got, err, time.Since(began), want)
			}
		})
	}
}

// After Close callers get the IDs that are left, and then ErrClosed in place of any error.
func TestErrorsAfterCloseAreErrClosed(t *testing.T) {
	left := 1
	p := path(nil, func(n int) (int64, int, error) {
		if left--; left < 0 {
			return 0, 0, io.EOF
		}
		return 7, n, nil
	})
	testkit.Must(t, p.Closer.Close(func() error { return nil }))
	if first, got, err := p.Reserve(2); first != 7 || got != 2 || err != nil {
		t.Errorf("Reserve = %d, %d, %v, want the IDs", first, got, err)
	}
	if _, _, err := p.ReserveContext(t.Context(), 2); err != uidring.ErrClosed {
		t.Errorf("ReserveContext: %v, want ErrClosed", err)
	}
}

// A caller without a context must not take the end of a store call for the end of its own.
func TestDetachHidesContexts(t *testing.T) {
	for _, hidden := range []error{context.Canceled, context.DeadlineExceeded} {
		err := generator.Detach(fmt.Errorf("%w: %w", io.EOF, hidden))
		var timeout net.Error
		if errors.As(err, &timeout) || timeout != nil || errors.Is(err, hidden) || !errors.Is(err, io.EOF) || err.Error() != "EOF: "+hidden.Error() {
			t.Errorf("Detach returns %v, which is %v: %v, and io.EOF: %v", err, hidden, errors.Is(err, hidden), errors.Is(err, io.EOF))
		}
	}
	away := &net.OpError{Err: context.Canceled}
	err := generator.Detach(away)
	if found, _ := errors.AsType[net.Error](err); found != away {
		t.Errorf("Detach hides %v, want only the error of a context hidden", err)
	}
	if err := generator.Detach(io.EOF); err != io.EOF {
		t.Errorf("Detach returns %v, want an error without a context unchanged", err)
	}
}

func TestEndedNamesTheCause(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.EOF)
	plain, end := context.WithCancel(t.Context())
	end()
	for want, ctx := range map[string]context.Context{"EOF (context canceled)": ctx, "context canceled": plain} {
		if err := generator.Ended(ctx); err.Error() != want || !errors.Is(err, context.Canceled) {
			t.Errorf("Ended returns %v, want %s", err, want)
		}
	}
}

// Goroutines that wait and wake use the channel of the Notifier at once.
func TestNotifierIsUsedByManyGoroutines(t *testing.T) {
	var n generator.Notifier
	testkit.Together(8, func(int) {
		for range 1000 {
			changed := n.Wait()
			n.Wake()
			<-changed
		}
	})
}

// The values were computed outside of Go, with SplitMix64's constants.
func TestScatterGoldenValues(t *testing.T) {
	for first, want := range map[int64][2]int64{ // of 8 and of 13 bits
		0: {0, 0}, 1 << 20: {63, 1026}, 5 << 20: {88, 1419}, 1<<62 - 1<<13: {40, 660}, 176636547297255424: {56, 913}, 0x0123456789abcdef: {73, 1186},
	} {
		if got := [2]int64{generator.Scatter(first, 8), generator.Scatter(first, 13)}; got != want {
			t.Errorf("Scatter of %d: %d, want %d", first, got, want)
		}
	}
}

func TestScatterStaysInThreeEighthsOfAUnit(t *testing.T) {
	for width := range uint8(64) {
		least, most := int64(math.MaxInt64), int64(0)
		for first := range int64(100_000) {
			start := generator.Scatter(first<<min(width, 45), width)
			least, most = min(least, start), max(most, start)
		}
		// The sum of the largest numbers below a quarter and below an eighth.
		want := int64(1)<<min(width, 12)*3/8 - 2
		if width < 8 {
			want = 0
		}
		if least < 0 || most > want || most < want*98/100 || least > want/50 {
			t.Errorf("%d bits: %d to %d, want 0 to %d", width, least, most, want)
		}
	}
}

// A panic of the user's code in the first Close, which the caller recovers, leaves no other Close
// waiting.
func TestCloseAfterAPanic(t *testing.T) {
	c := generator.NewCloser()
	func() {
		defer func() { recover() }()
		_ = c.Close(func() error { panic("a mistake") })
	}()
	if err := c.Close(nil); err != nil || !c.Closed() {
		t.Errorf("Close = %v, closed %t", err, c.Closed())
	}
}
