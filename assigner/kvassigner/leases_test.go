package kvassigner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/kvassigner"
	"github.com/uidring/uidring/internal/testkit/stores"
)

const namespace = "orders-1.eu_West"

func rowKey(workerID int64) string {
	return fmt.Sprintf("worker/%s/%016d/%03d", namespace, workerID/1000, workerID%1000)
}

func TestConformance(t *testing.T) {
	for name, change := range map[string]func(*memory){
		"clock":                    func(*memory) {},
		"clock in whole seconds":   func(m *memory) { m.now = func() time.Time { return time.Now().Truncate(time.Second) } },
		"no clock":                 func(m *memory) { m.now = nil },
		"client that writes twice": func(m *memory) { m.twice = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assignertest.RunStore(t, func(*testing.T) assignertest.StoreFixture {
				m := newMemory()
				change(m)
				return assignertest.StoreFixture{
					Handle: func() assigner.Store { return kvassigner.LeaseStore(m, namespace) },
					Other:  func(name string) assigner.Store { return kvassigner.LeaseStore(m, name) },
					Delete: func(t *testing.T, workerID int64) { m.removeKey(t, rowKey(workerID)) },
					Clear: func(t *testing.T) {
						m.removeFolder("worker/" + namespace + "/")
						m.removeKey(t, "meta/"+strings.ToLower(namespace))
					},
					Down: m.takeDown,
				}
			})
		})
	}
}

// sample returns a row with a holder.
func sample() assigner.Row {
	return assigner.Row{WorkerID: 4007, Version: 6, Fence: 5000, Token: "T", Owner: "O"}
}

// picky is a KV that rejects all namespaces.
type picky struct{ *memory }

func (picky) Check(namespace string) error { return fmt.Errorf("%q is not for me", namespace) }

func TestErrors(t *testing.T) {
	down := newMemory()
	down.takeDown(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		store assigner.Store
		is    error
		want  []string
	}{
		{"no namespace", t.Context(), kvassigner.LeaseStore(newMemory(), ""), nil, []string{`namespace "", allowed: 1 to 64`}},
		{"a foreign character", t.Context(), kvassigner.LeaseStore(newMemory(), "a/b"), nil, []string{`"a/b"`}},
		{"both arguments", t.Context(), kvassigner.LeaseStore(nil, "ä"), nil, []string{"kv is nil", `"ä"`}},
		{"settings of the KV", t.Context(), kvassigner.LeaseStore(picky{newMemory()}, "a/b"), nil, []string{`"a/b" is not for me`, "allowed: 1 to 64"}},
		{"store is down", t.Context(), kvassigner.LeaseStore(down, namespace), errDown, []string{"kvassigner: memory at ram:1: "}},
		{"context has ended", ended, kvassigner.LeaseStore(newMemory(), namespace), context.Canceled, []string{"request failed"}},
	} {
		if tt.is != nil && fmt.Sprint(tt.store) != fmt.Sprintf("memory at ram:1, namespace %q", namespace) {
			t.Errorf("%s: the store is called %v", tt.name, tt.store)
		}
		for i, err := range stores.EveryCall(tt.ctx, tt.store, sample(), time.Minute) {
			for _, part := range tt.want {
				if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "status of the store") {
					t.Errorf("%s: call %d: %v; want %q", tt.name, i, err, part)
				}
			}
		}
	}
}

func TestTextsThatDoNotFitAreRefused(t *testing.T) {
	s := kvassigner.LeaseStore(newMemory(), namespace)
	row := stores.Create(t, s, sample(), time.Hour)
	for _, tt := range []struct {
		change func(*assigner.Row)
		want   []string
	}{
		{func(r *assigner.Row) { r.Token, r.Owner = "\xff", "a\xffb" }, []string{`Token "\xff"`, `Owner "a\xffb"`, "allowed: UTF-8"}},
		{func(r *assigner.Row) { r.Identity, r.Holder = "\xc3", "\xfe" }, []string{"Identity", "Holder"}},
		{func(r *assigner.Row) { r.Owner = strings.Repeat("x", 1<<14) }, []string{"allowed: 16384 in all"}},
	} {
		next := row
		tt.change(&next)
		ok, err := s.Swap(t.Context(), row, next, time.Hour)
		for _, part := range tt.want {
			if ok || err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), rowKey(4007)) {
				t.Errorf("Swap: %v, %v; want %q", ok, err, part)
			}
		}
	}
	if ok, err := s.SwapMeta(t.Context(), assigner.Meta{}, assigner.Meta{Version: 1, Token: "\xff"}); ok || err == nil {
		t.Errorf("SwapMeta: %v, %v; want an error", ok, err)
	}
	if got := stores.Load(t, s, 4007); got != row {
		t.Errorf("row %+v, want %+v", got, row)
	}
}

func TestForeignRecordsAreRefused(t *testing.T) {
	for _, tt := range []struct {
		key, text string
		calls     []int // of everyCall
		sentinel  error
		want      string
	}{
		{rowKey(4007), "mine", []int{3, 4, 5, 6}, nil, "was not written by this package"},
		{rowKey(4007), `{"Format":2}`, []int{3, 4, 5, 6}, assigner.ErrLayoutMismatch, "format 2, here 1"},
		{"meta/" + strings.ToLower(namespace), "[]", []int{1, 2, 6, 7}, nil, "was not written by this package"},
		{"meta/" + strings.ToLower(namespace), "{}", []int{1, 2, 6, 7}, assigner.ErrLayoutMismatch, "format 0, here 1"},
		{"seen/" + namespace, `{"Format":1,"Value":7}`, []int{0, 2, 5}, nil, "was not written by this package"},
	} {
		m := newMemory()
		m.now = nil
		if ok, err := m.Put(t.Context(), tt.key, []byte(tt.text), ""); !ok || err != nil {
			t.Fatal(ok, err)
		}
		errs := stores.EveryCall(t.Context(), kvassigner.LeaseStore(m, namespace), sample(), time.Minute)
		for _, i := range tt.calls {
			err := errs[i]
			if err == nil || tt.sentinel != nil && !errors.Is(err, tt.sentinel) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.key) {
				t.Errorf("%s with %s, call %d: %v; want %q", tt.key, tt.text, i, err, tt.want)
			}
		}
	}
}

// Another process writes the row between the read and the write of a swap.
func TestSwapComparesTheRowThatItReplaces(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*assigner.Row)
		want   bool
	}{
		{"an equal row", func(r *assigner.Row) { r.Owner = "another name" }, true},
		{"a higher fence", func(r *assigner.Row) { r.Fence++ }, false},
		{"another token", func(r *assigner.Row) { r.Token = "theirs" }, false},
		{"another version", func(r *assigner.Row) { r.Version++ }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemory()
			s := kvassigner.LeaseStore(m, namespace)
			row := stores.Create(t, s, sample(), time.Hour)
			theirs, next := row, row
			tt.change(&theirs)
			next.Fence, next.Owner = row.Fence+100, "mine"
			m.before = func(string) {
				m.before = nil
				if ok, err := kvassigner.LeaseStore(m, namespace).Swap(t.Context(), row, theirs, time.Minute); !ok || err != nil {
					t.Errorf("their swap: %v, %v", ok, err)
				}
			}
			if ok, err := s.Swap(t.Context(), row, next, time.Hour); ok != tt.want || err != nil {
				t.Errorf("Swap: %v, %v; want %v", ok, err, tt.want)
			}
			want := theirs
			if tt.want {
				want = next
			}
			if got := stores.Load(t, s, 4007); got.Owner != want.Owner || !got.Same(want) {
				t.Errorf("row %+v, want %+v", got, want)
			}
		})
	}
}

func TestNamespaceThatDiffersInCaseOnlyIsRefused(t *testing.T) {
	m := newMemory()
	orders, twin := kvassigner.LeaseStore(m, "orders"), kvassigner.LeaseStore(m, "Orders")
	meta := assigner.Meta{Version: 1, Namespace: "N", Token: "T"}
	if ok, err := orders.SwapMeta(t.Context(), assigner.Meta{}, meta); !ok || err != nil {
		t.Fatalf("create orders: %v, %v", ok, err)
	}
	ok, err := twin.SwapMeta(t.Context(), assigner.Meta{}, meta)
	if ok || !errors.Is(err, assigner.ErrWorkerOverlap) || !strings.Contains(err.Error(), "meta/orders") {
		t.Errorf("create Orders: %v, %v; want ErrWorkerOverlap", ok, err)
	}
	if ok, err := twin.SwapMeta(t.Context(), meta, meta); ok || err != nil {
		t.Errorf("change Orders: %v, %v; want false", ok, err)
	}
	if got, err := twin.LoadMeta(t.Context()); err != nil || got != (assigner.Meta{}) {
		t.Errorf("meta row of Orders: %+v, %v; want none", got, err)
	}
	names, err := twin.(assigner.Namespaced).Namespaces(t.Context())
	if err != nil || len(names) != 1 || names["orders"] != meta {
		t.Errorf("namespaces %+v, %v; want orders alone", names, err)
	}
}
