package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A viewer is a recorder that decides when a write may go on.
type viewer struct {
	*httptest.ResponseRecorder
	deadlines []time.Duration // of writes, from their beginning on
	hold      chan struct{}   // a write waits for it; nil: none does
	broken    bool            // writes fail
	leave     context.CancelFunc
	ended     bool // the handler has returned
}

func (v *viewer) SetWriteDeadline(t time.Time) error {
	v.deadlines = append(v.deadlines, time.Until(t))
	return nil
}

func (v *viewer) Write(p []byte) (int, error) {
	if v.hold != nil {
		<-v.hold
	}
	if v.broken {
		return 0, errors.New("broken")
	}
	return v.ResponseRecorder.Write(p)
}

// look sends a request for /events, which goes on.
func look(p *Page, v *viewer) *viewer {
	ctx, cancel := context.WithCancel(context.Background())
	v.ResponseRecorder, v.leave = httptest.NewRecorder(), cancel
	go func() {
		p.stream(v, httptest.NewRequestWithContext(ctx, "GET", "/events", nil))
		v.ended = true
	}()
	synctest.Wait()
	return v
}

func (v *viewer) end(t *testing.T) {
	t.Helper()
	v.leave()
	synctest.Wait()
	if !v.ended {
		t.Error("the stream goes on after its request has ended")
	}
}

func (v *viewer) count(part string) int { return strings.Count(v.Body.String(), part) }

func TestStreamEventsAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := int64(0)
		cfg := quietly(t, bitsalloc.Snowflake(), func() cached.Stats {
			calls++
			return cached.Stats{
				WorkerID: 7, DatacenterID: 0, Guarantee: assigner.GuaranteeFenced, LastGranted: 9, Window: time.Minute, WindowLasts: 1500 * time.Millisecond,
				Capacity: 65536, Remaining: 40000, Issued: 1<<60 + calls*500, Retired: 3,
				LastDelta: 1<<60 + 1, Ahead: -2500 * time.Millisecond,
			}
		})
		cfg.About = About{Version: "v1.2.3", Host: "ids-1", Namespace: "orders", Tokens: true, APIPort: "8080", Store: "file:///ids"}
		cfg.Window, cfg.MaxAhead = time.Minute, time.Minute
		v := look(New(cfg), &viewer{})
		time.Sleep(time.Second)
		synctest.Wait()
		v.end(t)
		want := testkit.ReadFile(t, "testdata/events")
		if got := v.Body.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if v.Header().Get("Content-Type") != "text/event-stream" || v.Header().Get("X-Accel-Buffering") != "no" {
			t.Errorf("headers %v", v.Header())
		}
		if want := slices.Repeat([]time.Duration{10 * time.Second}, 3); !slices.Equal(v.deadlines, want) {
			t.Errorf("deadlines of the writes %v, want %v", v.deadlines, want)
		}
		if !look(New(cfg), &viewer{broken: true}).ended {
			t.Error("the stream goes on after a write has failed")
		}
	})
}

// Viewers share one reading per interval. A viewer that does not read misses readings, and gets the
// newest when it reads again.
func TestStreamsShareOneReadingPerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := int64(0)
		p := New(quietly(t, bitsalloc.Default(), func() cached.Stats {
			calls++
			return cached.Stats{Issued: 1000 * calls, LastGranted: assigner.Unlimited}
		}))
		slow := &viewer{hold: make(chan struct{}, 2)}
		for range cap(slow.hold) { // "about" and the first reading
			slow.hold <- struct{}{}
		}
		viewers := []*viewer{look(p, slow)}
		for range 4 {
			viewers = append(viewers, look(p, &viewer{}))
			time.Sleep(300 * time.Millisecond) // they do not begin together
		}
		time.Sleep(60*time.Second - 4*300*time.Millisecond)
		synctest.Wait()
		close(slow.hold)
		synctest.Wait()
		for number, want := range map[int]int{1000: 1, 2000: 1, 3000: 0, 60000: 0, 61000: 1} { // the second was being written
			if got := slow.count(fmt.Sprintf(`"issued":"%d"`, number)); got != want {
				t.Errorf("the slow viewer got reading %d %d times, want %d", number/1000, got, want)
			}
		}
		for i, v := range viewers {
			if v.end(t); i > 0 && v.count("event: stats") != 61 {
				t.Errorf("viewer %d got %d readings, want 61", i, v.count("event: stats"))
			}
		}
		if time.Sleep(time.Hour); calls != 61 {
			t.Errorf("%d readings after an hour without viewers, want 61", calls)
		}
		again := look(p, &viewer{})
		again.end(t)
		if again.count(`"rate":null,"fill"`) != 1 || again.count(`"windowLasts":null`) != 1 {
			t.Errorf("got %s, want no rate, which would be a mean over the hour, and no window without a fence", again.Body.String())
		}
	})
}
