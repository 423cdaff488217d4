package metrics_test

import (
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/metrics"
)

// published numbers the names that tests have given to expvar, which never forgets one.
var published atomic.Int64

func newName() string { return fmt.Sprintf("ids %d", published.Add(1)) }

func TestPublishReadsStatsAtEachRequest(t *testing.T) {
	for _, limit := range []int64{7, assigner.Unlimited} {
		name, stats := newName(), defaultgen.Stats{Limit: limit}
		if err := metrics.Publish(name, func() defaultgen.Stats { return stats }); err != nil {
			t.Fatal(err)
		}
		stats.WorkerID = 77
		want := make(map[string]float64)
		for _, m := range metrics.All[defaultgen.Stats]() {
			if v, ok := m.Value(stats); ok {
				want[m.Name] = v
			}
		}
		var got map[string]float64
		if err := json.Unmarshal([]byte(expvar.Get(name).String()), &got); err != nil || !maps.Equal(got, want) || got["uidring_worker_id"] != 77 {
			t.Errorf("limit %d: %v, %v; want %v", limit, got, err, want)
		}
	}
}

func TestPublishRefusesANameInUse(t *testing.T) {
	stats := func() defaultgen.Stats { return defaultgen.Stats{} }
	if err := metrics.Publish("memstats", stats); !errors.Is(err, metrics.ErrNameInUse) {
		t.Errorf("Publish of memstats, which is expvar's own: %v", err)
	}
	if err := metrics.Publish("", stats); err == nil || errors.Is(err, metrics.ErrNameInUse) {
		t.Errorf("Publish without a name: %v", err)
	}
}
