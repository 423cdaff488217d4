package metrics_test

import (
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/testkit/testgen"
	"github.com/uidring/uidring/metrics"
)

// published numbers the names that tests have given to expvar, which never forgets one.
var published atomic.Int64

func newName() string { return fmt.Sprintf("ids %d", published.Add(1)) }

func vars(t *testing.T) map[string]map[string]float64 {
	t.Helper()
	response := httptest.NewRecorder()
	expvar.Handler().ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/", nil))
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(response.Body.Bytes(), &raw); err != nil || response.Code != http.StatusOK {
		t.Fatalf("GET: %d, %v: %s", response.Code, err, response.Body)
	}
	all := make(map[string]map[string]float64)
	for name, text := range raw {
		var values map[string]float64
		if json.Unmarshal(text, &values) == nil { // memstats and others are of another form
			all[name] = values
		}
	}
	return all
}

func TestPublishShowsBothKindsOfGenerators(t *testing.T) {
	const taken = 12345
	ring, plain := testgen.Used(t, taken), testgen.Default(t, defaultgen.Config{Assigner: assigner.Static(77)})
	ringName, plainName := newName(), newName()
	if err := errors.Join(metrics.Publish(ringName, ring.Stats), metrics.Publish(plainName, plain.Stats)); err != nil {
		t.Fatal(err)
	}
	all := vars(t)
	checkKeys(t, all[ringName], names[cached.Stats]())
	if v := all[ringName]; v["uidring_issued_ids_total"] != taken || v["uidring_datacenter_id"] != 3 || v["uidring_capacity_ids"] != 65536 {
		t.Errorf("after %d IDs of datacenter 3: %v", taken, v)
	}
	windows := func(name string) bool {
		return name == "uidring_window_seconds" || name == "uidring_window_lasts_seconds"
	}
	checkKeys(t, all[plainName], slices.DeleteFunc(names[defaultgen.Stats](), windows)) // a static worker ID has no fence
	if v := all[plainName]; v["uidring_worker_id"] != 77 {
		t.Errorf("worker 77: %v", v)
	}
	if err := ring.Close(); err != nil {
		t.Fatal(err)
	}
	if v := vars(t)[ringName]; v["uidring_issued_ids_total"] != taken || v["uidring_remaining_ids"] != 0 {
		t.Errorf("after Close: %v, want the IDs that were issued, and none left", v)
	}
}

func names[S metrics.Stats]() (names []string) {
	for _, m := range metrics.All[S]() {
		names = append(names, m.Name)
	}
	return names
}

func checkKeys(t *testing.T, got map[string]float64, want []string) {
	t.Helper()
	if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, slices.Sorted(slices.Values(want))) {
		t.Errorf("keys %v, want %v", keys, want)
	}
}

func TestPublishRefusesANameInUse(t *testing.T) {
	defer log.SetOutput(log.Writer())
	log.SetOutput(io.Discard) // expvar logs before it panics
	stats := func() cached.Stats { return cached.Stats{} }
	if err := metrics.Publish("memstats", stats); !errors.Is(err, metrics.ErrNameInUse) {
		t.Errorf("Publish of memstats, which is expvar's own: %v", err)
	}
	if err := metrics.Publish("", stats); err == nil {
		t.Error("Publish without a name: no error")
	}
	for range 20 {
		name := newName()
		var won, refused atomic.Int64
		var publishers sync.WaitGroup
		for range 8 {
			publishers.Go(func() {
				switch err := metrics.Publish(name, stats); {
				case err == nil:
					won.Add(1)
				case errors.Is(err, metrics.ErrNameInUse):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		publishers.Wait()
		if won.Load() != 1 || refused.Load() != 7 {
			t.Fatalf("%d of 8 have published one name, and %d were refused", won.Load(), refused.Load())
		}
	}
}
