package httpapi

import (
	"context"
	"encoding/json"
	"math"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testkit"
)

// The sizes pass the bounds of blocks, of the ring and of chunks.
func TestDrawInBatchesOfAllSizes(t *testing.T) {
	s := newServer(t, Config{Generator: newGenerator(t, cached.Config{
		Layout: bitsalloc.Layout{DeltaBits: 45, WorkerBits: 10, SequenceBits: 8}, BoostPower: 2,
	})})
	drawn := []int64{0}
	for _, n := range []int{1, 255, 256, 257, 1024, 1025, 4096, 4097, 100_000} {
		for accept, form := range map[string]string{"application/json": "", "text/plain": "", "*/*": "&form=ranges"} {
			w := call(s, "/v1/ids?n="+strconv.Itoa(n)+form, "Accept", accept)
			ids := decode(t, w.Body.String())
			if w.Code != 200 || len(ids) != n {
				t.Fatalf("n=%d as %s: %d, %d IDs", n, accept, w.Code, len(ids))
			}
			drawn = append(drawn, ids...)
		}
	}
	for i := range drawn[1:] {
		if drawn[i] >= drawn[i+1] {
			t.Fatalf("after %d comes %d, want more", drawn[i], drawn[i+1])
		}
	}
}

// decode reads a body as a client would.
func decode(t *testing.T, body string) (ids []int64) {
	t.Helper()
	var many struct {
		IDs    []string
		Ranges []struct {
			First int64 `json:",string"`
			Count int64
		}
	}
	texts := strings.Fields(body)
	if json.Unmarshal([]byte(body), &many) == nil {
		for _, r := range many.Ranges {
			for i := range r.Count {
				ids = append(ids, r.First+i)
			}
		}
		texts = many.IDs
	}
	for _, text := range texts {
		id, err := uidring.Parse(text)
		testkit.Must(t, err)
		ids = append(ids, int64(id))
	}
	return ids
}

// The request draws more than the window has, from a store that answers.
func TestDrawWaitsForTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGenerator(t, cached.Config{Layout: small(40), BoostPower: 1, Assigner: leasedFrom(t.TempDir())})
		n := 2 * (int(g.Stats().Window/time.Second) + 10)
		s := newServer(t, Config{Generator: g})
		w := call(s, "/v1/ids?n="+strconv.Itoa(n), "Accept", "text/plain")
		if ids := decode(t, w.Body.String()); w.Code != 200 || len(ids) != n || !slices.IsSorted(ids) {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
		if s := g.Stats(); s.Renewals == 0 || s.RejectedTakes != 0 {
			t.Errorf("%+v; want a renewal, else the window was enough, and no rejection of a request that got its IDs", s)
		}
	})
}

// One request waits, and those after it are refused at once, until there is an ID again. A client
// that has left before shows nothing. They do not use up the bound of ID time, 27,360 IDs here.
func TestDrawWaitsInVainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := cutOff(t)
		s := newServer(t, Config{Generator: g, MaxAhead: time.Hour, IDsPerSecond: 8})
		ctx, leave := context.WithCancel(t.Context())
		leave()
		left := httptest.NewRecorder()
		both(s).ServeHTTP(left, httptest.NewRequestWithContext(ctx, "GET", "/v1/id", nil))
		if left.Code != 503 {
			t.Errorf("a client that has left: %d, want 503", left.Code)
		}
		for i := range 20 {
			started := time.Now()
			w := call(s, "/v1/ids?n=10000")
			wantProblem(t, w, "no-lease", "without a lease")
			if took := time.Since(started); w.Code != 503 || (took >= longestWait) != (i == 0) {
				t.Errorf("request %d: %d after %v; want 503, the first after %v, the others before that", i, w.Code, took, longestWait)
			}
		}
	})
}

func FuzzN(f *testing.F) {
	for _, n := range []string{"1", "0", "100", "101", "-1", "+1", "1e2", "０", " 1", "01", "9223372036854775808"} {
		f.Add(n)
	}
	s := newServer(f, Config{Settings: Settings{Rate: math.MaxInt32, Burst: 100}})
	f.Fuzz(func(t *testing.T, n string) {
		r := httptest.NewRequest("GET", "/v1/ids", nil)
		r.URL.RawQuery = "n=" + n
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		number, err := strconv.Atoi(r.URL.Query().Get("n"))
		good := err == nil && number >= 1 && number <= 100 && strconv.Itoa(number) == r.URL.Query().Get("n")
		switch {
		case w.Code == 400:
		case w.Code != 200 || !good:
			t.Errorf("n=%q: %d", n, w.Code)
		case len(decode(t, w.Body.String())) != number:
			t.Errorf("n=%q: %s", n, w.Body)
		}
		if good && n == strconv.Itoa(number) && w.Code != 200 {
			t.Errorf("n=%q: %d, want 200", n, w.Code)
		}
	})
}
