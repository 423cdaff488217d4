package kvassigner_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/stores"
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
		"clock in whole seconds": func(m *memory) { m.now = func() time.Time { return time.Now().Truncate(time.Second) } },
		"no clock":               func(m *memory) { m.now = nil },
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
					Down:   m.takeDown,
				}
			})
		})
	}
}

func TestSegmentSourceConforms(t *testing.T) {
	m := newMemory()
	segmenttest.Run(t, segmenttest.Fixture{Open: func(*testing.T) segment.Source { return kvassigner.SegmentSource(m, kvassigner.SegmentConfig{}) }})
	m.twice = true
	for i := range int64(3) {
		if r, err := kvassigner.SegmentSource(m, kvassigner.SegmentConfig{}).Advance(t.Context(), "a", 10); err != nil || r.First != 10*i+1 || r.Last != 10*i+10 {
			t.Errorf("range %v, %v with writes that are sent twice, want it to begin at %d", r, err, 10*i+1)
		}
	}
	if r, err := kvassigner.SegmentSource(m, kvassigner.SegmentConfig{}).Advance(t.Context(), "b", math.MaxInt64); err != nil || r.Last != math.MaxInt64 {
		t.Errorf("range %v, %v, want all IDs", r, err)
	}
}

// picky is a KV that rejects all namespaces.
type picky struct{ *memory }

func (picky) Check(namespace string) error { return fmt.Errorf("%q is not for me", namespace) }

// honest is a KV that returns the error of the context.
type honest struct{ *memory }

func (honest) Get(ctx context.Context, _ string) ([]byte, string, error) { return nil, "", ctx.Err() }

func TestLeaseStoreSaysWhatIsWrong(t *testing.T) {
	stores.Fail(t, kvassigner.LeaseStore(nil, "ä", kvassigner.Config{}), "kv is required", `namespace "ä", allowed: 1 to 64`)
	stores.Fail(t, kvassigner.LeaseStore(picky{newMemory()}, "a/b", kvassigner.Config{}), `"a/b" is not for me`, "allowed: 1 to 64")
	m := newMemory()
	s := kvassigner.LeaseStore(m, namespace, kvassigner.Config{})
	if got := stores.Status(t, s); got.Store != "memory at ram:1" || got.Namespace != namespace {
		t.Errorf("status %+v, want memory at ram:1 and namespace %s", got, namespace)
	}
	m.before = func(string) { m.takeDown(t) }
	ok, errSwap := s.Swap(t.Context(), leasestore.Row{}, stores.Sample(), time.Hour)
	_, errStatus := s.Status(t.Context())
	timeless := newMemory()
	timeless.now, timeless.before = nil, func(string) { timeless.takeDown(t) }
	_, errSeen := kvassigner.LeaseStore(timeless, namespace, kvassigner.Config{}).Swap(t.Context(), leasestore.Row{}, stores.Sample(), time.Hour)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, errEnded := s.Load(ended, 4007)
	_, errHonest := kvassigner.LeaseStore(honest{m}, namespace, kvassigner.Config{}).Load(ended, 4007)
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
	if !errors.Is(errEnded, context.Canceled) || ok || !errors.Is(errSwap, errDown) {
		t.Errorf("%v, %v, %v; want context.Canceled, false and errDown", errEnded, ok, errSwap)
	}
}

func TestSwapRefusesARowThatIsTooLong(t *testing.T) {
	m := newMemory()
	s := kvassigner.LeaseStore(m, namespace, kvassigner.Config{})
	row := stores.Create(t, s, stores.Sample(), time.Hour)
	next := row
	next.Owner += strings.Repeat("x", kvassigner.MaxValue-len(m.values[rowKey(4007)]))
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
		{rowKey(4007), "mine", []int{3, 4, 5}, nil, "was not written by this package"},
		{rowKey(4007), `{"reader":2,"value":"new"}`, []int{3, 4, 5}, assigner.ErrLayoutMismatch, "format 2, here 1"},
		{"meta/" + strings.ToLower(namespace), "[]", []int{1, 2, 6, 7}, nil, "was not written by this package"},
		{"meta/" + strings.ToLower(namespace), "{}", []int{1, 2, 6, 7}, nil, "was not written by this package: it has no number reader"},
		{"seen/" + namespace, `{"reader":1,"value":7}`, []int{0, 2, 5}, nil, "was not written by this package"},
	} {
		m := newMemory()
		m.now = nil
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
		if kept := string(m.values[tt.key]); kept != tt.text {
			t.Errorf("%s: %s was replaced by %s", tt.key, tt.text, kept)
		}
	}
}

var errDown = errors.New("the store is down")

// A memory is a bucket with faults and a clock, shared by several handles.
type memory struct {
	*bucket
	now    func() time.Time // nil: it has no clock
	twice  bool             // its client sends each write twice, and returns the second answer
	before func(key string) // called before each write

	down  bool     // under the lock of the bucket, as the others
	fails string   // the call that fails while others do not
	looks int      // calls of Status
	lists []string // the prefixes of all calls of List
}

func (m *memory) String() string { return "memory at ram:1" }

func newMemory() *memory { return &memory{bucket: newBucket(), now: time.Now} }

// enter returns an error that hides the end of the context, as a client may.
func (m *memory) enter(ctx context.Context, call string, note func()) error {
	if ctx.Err() != nil {
		return errors.New("request failed")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down || m.fails == call {
		return errDown
	}
	note()
	return nil
}

func (m *memory) Get(ctx context.Context, key string) (value []byte, revision string, err error) {
	if err := m.enter(ctx, "get", func() {}); err != nil {
		return nil, "", err
	}
	return m.bucket.Get(ctx, key)
}

func (m *memory) Put(ctx context.Context, key string, value []byte, revision string) (ok bool, err error) {
	if m.before != nil {
		m.before(key)
	}
	if err := m.enter(ctx, "put", func() {}); err != nil {
		return false, err
	}
	ok, err = m.bucket.Put(ctx, key, value, revision)
	return ok && !m.twice, err
}

func (m *memory) List(ctx context.Context, prefix string) (entries []kvassigner.Entry, err error) {
	if err := m.enter(ctx, "list", func() { m.lists = append(m.lists, prefix) }); err != nil {
		return nil, err
	}
	return m.bucket.List(ctx, prefix)
}

func (m *memory) Status(ctx context.Context) (status leasestore.Status, err error) {
	if err := m.enter(ctx, "status", func() { m.looks++ }); err != nil {
		return status, err
	}
	status.Identity = "memory"
	if m.now != nil {
		status.Now = m.now()
	}
	return status, nil
}

// takeDown makes all calls fail until up is called.
func (m *memory) takeDown(*testing.T) (up func()) {
	set := func(down bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.down = down
	}
	set(true)
	return func() { set(false) }
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
