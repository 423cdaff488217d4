package kvassigner_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/memkv"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

const namespace = "orders-1.eu_West"

func rowKey(workerID int64) string {
	return fmt.Sprintf("worker/%s/%016d/%03d", namespace, workerID/1000, workerID%1000)
}

func TestConformance(t *testing.T) {
	for name, change := range map[string]func(*memory){
		"clock":                  func(*memory) {},
		"clock in whole seconds": func(m *memory) { m.Now = func() time.Time { return time.Now().Truncate(time.Second) } },
		"no clock":               func(m *memory) { m.Now = nil },
		"writes are sent twice":  func(m *memory) { m.twice = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assignertest.RunStore(t, func(*testing.T) assignertest.StoreFixture {
				m := newMemory()
				change(m)
				return assignertest.StoreFixture{
					Handle: func() leasestore.Store { return kvassigner.LeaseStore(m, namespace, kvassigner.Config{}) },
					Other:  func(name string) leasestore.Store { return kvassigner.LeaseStore(m, name, kvassigner.Config{}) },
					Down:   func(*testing.T) (up func()) { return m.Down() },
				}
			})
		})
	}
}

func TestSegmentSourceConforms(t *testing.T) {
	m := newMemory()
	open := func(*testing.T) segment.Source { return kvassigner.SegmentSource(m, kvassigner.SegmentConfig{}) }
	segmenttest.Run(t, segmenttest.Fixture{Open: open})
	m.twice = true // a range is wasted only if another process writes between the two
	for _, want := range []segment.Range{{First: 1, Last: 1, Increment: 1}, {First: 2, Last: math.MaxInt64, Increment: 1}} {
		if r, err := open(t).Advance(t.Context(), "b", want.Last-want.First+1); err != nil || r != want {
			t.Errorf("range %v, %v, want %v", r, err, want)
		}
	}
}

// picky is a KV that rejects all namespaces.
type picky struct{ *memory }

func (picky) Check(namespace string) error { return fmt.Errorf("%q is not for me", namespace) }

func TestLeaseStoreSaysWhatIsWrong(t *testing.T) {
	stores.Fail(t, kvassigner.LeaseStore(nil, "ä", kvassigner.Config{}), "kv is required", `namespace "ä", allowed: 1 to 64`)
	stores.Fail(t, kvassigner.LeaseStore(picky{newMemory()}, "a/b", kvassigner.Config{}), `"a/b" is not for me`, "allowed: 1 to 64")
	m := newMemory()
	s := kvassigner.LeaseStore(m, namespace, kvassigner.Config{})
	if got := stores.Status(t, s); got.Store != "memory at ram:1" || got.Namespace != namespace {
		t.Errorf("status %+v, want memory at ram:1 and namespace %s", got, namespace)
	}
	m.fails = "Put"
	ok, errSwap := s.Swap(t.Context(), leasestore.Row{}, stores.Sample(), time.Hour)
	m.Down()
	_, errStatus := s.Status(t.Context())
	timeless := newMemory()
	timeless.Now, timeless.fails = nil, "Put"
	_, errSeen := kvassigner.LeaseStore(timeless, namespace, kvassigner.Config{}).Swap(t.Context(), leasestore.Row{}, stores.Sample(), time.Hour)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, errEnded := s.Load(ended, 4007)
	honest := newMemory()
	honest.Before = nil // it returns the error of the context
	_, errHonest := kvassigner.LeaseStore(honest, namespace, kvassigner.Config{}).Load(ended, 4007)
	for want, err := range map[string]error{
		"cannot write " + rowKey(4007) + ": the store is down":   errSwap,
		"cannot write seen/" + namespace + ": the store is down": errSeen,
		"the store is down": errStatus,
		"cannot read " + rowKey(4007) + ": request failed (context canceled)": errEnded,
		"cannot read " + rowKey(4007) + ": context canceled":                  errHonest,
	} {
		if want = "kvassigner: memory at ram:1: " + want; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	stores.Waits(t, false, errEnded, context.Canceled)
	if stores.Waits(t, true, errSwap, memkv.ErrDown); ok {
		t.Error("a swap that failed reports true")
	}
}

func TestSwapRefusesARowThatIsTooLong(t *testing.T) {
	m := newMemory()
	s := kvassigner.LeaseStore(m, namespace, kvassigner.Config{})
	row := stores.Create(t, s, stores.Sample(), time.Hour)
	next := row
	next.Owner += strings.Repeat("x", kvassigner.MaxValue-len(m.value(t, rowKey(4007))))
	stores.Swap(t, s, row, next, time.Hour)
	next.Owner += "x"
	if ok, err := s.Swap(t.Context(), row, next, time.Hour); ok || err == nil || !strings.Contains(err.Error(), rowKey(4007)+": its texts take 16385 bytes, allowed: 16384") {
		t.Errorf("a longer row: %v, %v; want an error", ok, err)
	}
}

func TestLeaseStoreRefusesForeignRecords(t *testing.T) {
	for _, tt := range []struct {
		key, text string
		calls     []int // of EveryCall
		sentinel  error
		want      string
	}{
		{rowKey(4007), "mine", []int{3, 4, 5}, nil, "was not written by this package: invalid character"},
		{rowKey(4007), `{"reader":2,"value":"new"}`, []int{3, 4, 5}, assigner.ErrLayoutMismatch, "format 2, here 1"},
		{"meta/" + strings.ToLower(namespace), "[]", []int{1, 2, 6, 7}, nil, "was not written by this package"},
		{"meta/" + strings.ToLower(namespace), "{}", []int{1, 2, 6, 7}, nil, "was not written by this package: it has no number reader"},
		{"seen/" + namespace, `{"reader":1,"value":7}`, []int{0, 2, 5}, nil, "was not written by this package"},
	} {
		m := newMemory()
		m.Now = nil
		s := kvassigner.LeaseStore(m, namespace, kvassigner.Config{})
		stores.Status(t, s) // a swap then has a time, and reads no status
		if ok, err := m.Put(t.Context(), tt.key, []byte(tt.text), ""); !ok || err != nil {
			t.Fatal(ok, err)
		}
		errs := stores.EveryCall(t.Context(), t, s, time.Minute)
		for _, i := range tt.calls {
			err := errs[i]
			if err == nil || tt.sentinel != nil && !errors.Is(err, tt.sentinel) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.key) {
				t.Errorf("%s with %s, call %d: %v; want %q", tt.key, tt.text, i, err, tt.want)
			}
		}
		if kept := m.value(t, tt.key); kept != tt.text {
			t.Errorf("%s: %s was replaced by %s", tt.key, tt.text, kept)
		}
	}
}

// A memory is a KV with faults and a clock, shared by several handles.
type memory struct {
	*memkv.KV
	twice bool   // its client sends each write twice, and returns the second answer
	fails string // the method that fails while others do not
	calls testkit.Recorder
}

func newMemory() *memory {
	m := &memory{KV: &memkv.KV{Server: new(memkv.Server), Now: time.Now}}
	m.Before = m.enter
	return m
}

func (m *memory) String() string { return "memory at ram:1" }

// enter records a call. It returns an error that hides the end of the context, as a client may.
func (m *memory) enter(ctx context.Context, method, key string) error {
	m.calls.Note("%s %s", method, key)
	switch {
	case ctx.Err() != nil:
		return errors.New("request failed")
	case m.fails == method:
		return memkv.ErrDown
	}
	return nil
}

// called returns the calls that begin with a text, and forgets all.
func (m *memory) called(with string) []string {
	return slices.DeleteFunc(m.calls.Read(), func(call string) bool { return !strings.HasPrefix(call, with) })
}

func (m *memory) Put(ctx context.Context, key string, value []byte, revision string) (bool, error) {
	ok, err := m.KV.Put(ctx, key, value, revision)
	return ok && !m.twice, err
}

// value returns the value of a key.
func (m *memory) value(t *testing.T, key string) string {
	t.Helper()
	value, _, err := m.Get(t.Context(), key)
	testkit.Must(t, err)
	return string(value)
}

func TestGetAllReturnsTheEntriesThatExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make([]string, 1000)
		for i := range keys {
			keys[i] = fmt.Sprint("key", i)
		}
		began := time.Now()
		got, err := kvassigner.GetAll(t.Context(), keys, func(_ context.Context, key string) ([]byte, string, error) {
			time.Sleep(time.Second)
			if strings.HasSuffix(key, "7") {
				return nil, "", nil
			}
			return []byte("value of " + key), "1", nil
		})
		if took := time.Since(began); err != nil || len(got) != 900 || took != 16*time.Second { // 64 at once
			t.Fatalf("%d entries, %v, after %v; want 900 after 16 s", len(got), err, took)
		}
		for _, e := range got {
			if string(e.Value) != "value of "+e.Key {
				t.Errorf("entry %s: %s", e.Key, e.Value)
			}
		}
	})
}

func TestGetAllEndsWithTheFirstError(t *testing.T) {
	failed := errors.New("failed")
	get := func(ctx context.Context, key string) ([]byte, string, error) {
		if key == "b" {
			return nil, "", failed
		}
		<-ctx.Done()
		return nil, "", ctx.Err()
	}
	if got, err := kvassigner.GetAll(t.Context(), []string{"a", "b", "c"}, get); !errors.Is(err, failed) || got != nil {
		t.Errorf("%v, %v; want %v", got, err, failed)
	}
}
