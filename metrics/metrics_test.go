package metrics_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"expvar"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/metrics"
	"github.com/uidring/uidring/segment"
)

// untold are the fields of Stats that are no metric, because other metrics convey them.
var untold = []string{
	"Guarantee",   // a word, in the log record of the assignment
	"LastGranted", // Window tells how far it is
	"LastDelta",   // Ahead tells where it is
}

func TestAllReadsEveryFieldOfStats(t *testing.T) {
	t.Run("cached", checkFields[cached.Stats])
	t.Run("defaultgen", checkFields[defaultgen.Stats])
	t.Run("segment", checkFields[segment.Stats])
}

// checkFields gives each field a number of its own, and looks for it under the name that follows
// from the field's.
func checkFields[S metrics.Stats](t *testing.T) {
	var stats S
	prefix := "uidring"
	if _, ok := any(stats).(segment.Stats); ok {
		prefix += "_segment"
	}
	want := make(map[string]float64)
	v := reflect.ValueOf(&stats).Elem()
	for i := range v.NumField() {
		field, n := v.Type().Field(i).Name, int64(1000+i)
		name := prefix + snake(field)
		switch f := v.Field(i); f.Interface().(type) {
		case time.Duration:
			f.SetInt(n * int64(time.Millisecond))
			want[name+"_seconds"] = float64(n) / 1000
		case time.Time:
			f.Set(reflect.ValueOf(time.UnixMilli(n)))
			want[name+"_timestamp_seconds"] = float64(n) / 1000
		case int, int64:
			f.SetInt(n)
			want[name] = float64(n)
		case []segment.SourceStats:
			f.Set(reflect.ValueOf(slices.Repeat([]segment.SourceStats{{Err: segment.ErrWentBack}, {}}, i)))
			want[prefix+"_failed"+snake(field)] = float64(i)
		case assigner.Guarantee, bool:
		default:
			t.Fatalf("%s has a type that this test does not know", field)
		}
		if slices.Contains(untold, field) {
			delete(want, name)
		}
	}
	for _, m := range metrics.All[S]() {
		name := strings.TrimSuffix(m.Name, "_total")
		if m.Counter != (name != m.Name) {
			t.Errorf("%s: Counter is %v", m.Name, m.Counter)
		}
		if strings.HasSuffix(name, "_seconds") != (m.Unit == "s") {
			t.Errorf("%s has the unit %q", m.Name, m.Unit)
		}
		if ids, ok := strings.CutSuffix(name, "_ids"); ok {
			if name = ids; m.Unit != "{id}" {
				t.Errorf("%s has the unit %q", m.Name, m.Unit)
			}
		}
		if got, ok := m.Value(stats); !ok || got != want[name] {
			t.Errorf("%s = %v, %v, want %v: the value of the field of that name", m.Name, got, ok, want[name])
		}
		delete(want, name)
	}
	if len(want) != 0 {
		t.Errorf("no metric for %v", want)
	}
}

// snake turns WorkerID into _worker_id.
func snake(field string) string {
	return strings.ToLower(regexp.MustCompile(`[A-Z]`).ReplaceAllString(strings.ReplaceAll(field, "ID", "Id"), "_$0"))
}

// A program may have one struct for its own figures and the generator's.
func TestAllReadsStatsThatAreEmbedded(t *testing.T) {
	type service struct {
		defaultgen.Stats
		Orders int
	}
	for i, m := range metrics.All[service]() {
		if v, _ := m.Value(service{Stats: defaultgen.Stats{WorkerID: 7}}); m.Name != metrics.All[defaultgen.Stats]()[i].Name || m.Name == "uidring_worker_id" && v != 7 {
			t.Errorf("%s = %v", m.Name, v)
		}
	}
}

// A window of 0 raises an alarm, so the metric must be absent when there is no window.
func TestAllHasNoWindowWithoutAFence(t *testing.T) {
	for _, m := range metrics.All[cached.Stats]() {
		window := strings.HasPrefix(m.Name, "uidring_window_")
		if v, ok := m.Value(cached.Stats{LastGranted: assigner.Unlimited}); v != 0 && !strings.Contains(m.Name, "timestamp") || ok == window {
			t.Errorf("%s without a fence = %v, %v", m.Name, v, ok)
		}
		if v, ok := m.Value(cached.Stats{LastGranted: 7, Window: time.Second, WindowLasts: time.Minute}); !ok || window && v == 0 {
			t.Errorf("%s with a fence = %v, %v", m.Name, v, ok)
		}
		if v, ok := m.Value(cached.Stats{LastGranted: 7}); window && (!ok || v != 0) {
			t.Errorf("%s of a worker ID that is lost = %v, %v, want 0", m.Name, v, ok)
		}
	}
}

// newName returns a name that is new to expvar, which never forgets one.
func newName() string { return "ids " + rand.Text() }

func TestPublishReadsStatsAtEachRequest(t *testing.T) {
	name, stats := newName(), defaultgen.Stats{}
	testkit.Must(t, metrics.Publish(name, func() defaultgen.Stats { return stats }))
	for _, stats = range []defaultgen.Stats{{WorkerID: 77, LastGranted: 7}, {WorkerID: 78, LastGranted: assigner.Unlimited}} {
		want := make(map[string]float64)
		for _, m := range metrics.All[defaultgen.Stats]() {
			if v, ok := m.Value(stats); ok {
				want[m.Name] = v
			}
		}
		var got map[string]float64
		if err := json.Unmarshal([]byte(expvar.Get(name).String()), &got); err != nil || !maps.Equal(got, want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
}

func TestPublishRefusesANameInUse(t *testing.T) {
	stats := func() defaultgen.Stats { return defaultgen.Stats{} }
	if err := metrics.Publish("memstats", stats); !errors.Is(err, metrics.ErrNameInUse) {
		t.Errorf("Publish of memstats, which is expvar's own: %v", err)
	}
	for mistake, err := range map[string]error{
		`name empty`:                               metrics.Publish("", stats),
		`stats func() *cached.Stats (nil: false`:   metrics.Publish(newName(), func() *cached.Stats { return nil }),
		`stats func() defaultgen.Stats (nil: true`: metrics.Publish[defaultgen.Stats](newName(), nil),
	} {
		if err == nil || errors.Is(err, metrics.ErrNameInUse) || !strings.Contains(err.Error(), "metrics: Publish: "+mistake) {
			t.Errorf("Publish = %v, want: %s", err, mistake)
		}
	}
}
