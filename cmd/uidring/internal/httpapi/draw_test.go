package httpapi

import (
	"encoding/json"
	"math"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

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
