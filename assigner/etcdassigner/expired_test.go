package etcdassigner_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// fill writes rows 0 to n-1; free says which of them have expired.
func fill(t testing.TB, client *clientv3.Client, s assigner.Store, n int64, free func(workerID int64) bool) {
	t.Helper()
	write := func(ttl time.Duration) string {
		row, err := s.Load(t.Context(), 0)
		if err == nil {
			_, err = s.Swap(t.Context(), row, assigner.Row{Version: row.Version + 1, Fence: 1, Token: "T", Owner: "host-1 pid 4711"}, ttl)
		}
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Get(t.Context(), rowKey(0))
		if err != nil || len(answer.Kvs) != 1 {
			t.Fatalf("row 0: %v, %v", answer, err)
		}
		return string(answer.Kvs[0].Value)
	}
	heldText, freeText := write(time.Hour), write(0)
	const batch = 128 // the most that etcd accepts in one transaction
	for first := int64(0); first < n; first += batch {
		var ops []clientv3.Op
		for w := first; w < min(first+batch, n); w++ {
			text := heldText
			if free(w) {
				text = freeText
			}
			text = strings.Replace(text, `"WorkerID":0`, fmt.Sprintf(`"WorkerID":%d`, w), 1)
			ops = append(ops, clientv3.OpPut(rowKey(w), text))
		}
		if _, err := client.Txn(t.Context()).Then(ops...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
}

// pin writes the meta row of a namespace in which the numbers below next have been given out.
func pin(t testing.TB, s assigner.Store, next int64) {
	t.Helper()
	d := assignertest.Domain()
	meta := assigner.Meta{Version: 1, Namespace: "N", Layout: d.Layout, Epoch: d.Epoch, DatacenterID: d.DatacenterID, NextWorkerID: next, Token: "T"}
	if ok, err := s.SwapMeta(t.Context(), assigner.Meta{}, meta); !ok || err != nil {
		t.Fatalf("create the meta row: %v, %v", ok, err)
	}
}

// A meter counts the requests of a client, and the keys and the bytes of values that it reads.
type meter struct{ requests, keys, bytes atomic.Int64 }

func (m *meter) option() grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
		invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		err := invoke(ctx, method, request, reply, conn, opts...)
		m.requests.Add(1)
		if answer, ok := reply.(*etcdserverpb.RangeResponse); ok {
			for _, kv := range answer.Kvs {
				m.keys.Add(1)
				m.bytes.Add(int64(len(kv.Value)))
			}
		}
		return err
	})
}

// Each claim may begin where few rows are free.
func TestClaimReadsABoundedNumberOfRows(t *testing.T) {
	const rows, others = 20_000, 20 // others: rows and requests of a claim beside its candidates
	server := testserver.Etcd(t)
	for _, tt := range []struct {
		name        string
		free        func(int64) bool
		keys, pages int64 // at most
		worker      func(int64) bool
	}{
		{"all are free", func(int64) bool { return true }, 1000, 1, func(w int64) bool { return w < rows }},
		{"every second is free", func(w int64) bool { return w%2 == 0 }, 1000, 1, func(w int64) bool { return w%2 == 0 }},
		{"every twentieth is free", func(w int64) bool { return w%20 == 0 }, 6000, 6, func(w int64) bool { return w%20 == 0 }},
		{"one is free", func(w int64) bool { return w == 777 }, rows, 20, func(w int64) bool { return w == 777 }},
		{"all are held", func(int64) bool { return false }, rows, 20, func(w int64) bool { return w == rows }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			admin := connect(t, server.DSN())
			s := etcdassigner.LeaseStore(admin, namespace)
			if _, err := admin.Delete(t.Context(), "uidring/", clientv3.WithPrefix()); err != nil {
				t.Fatal(err)
			}
			fill(t, admin, s, rows, tt.free)
			pin(t, s, rows)
			m := new(meter)
			a := assigner.Leased(etcdassigner.LeaseStore(connect(t, server.DSN(), m.option()), namespace), assigner.LeaseConfig{AllowUndurable: true})
			l, err := a.Assign(t.Context(), assignertest.Domain())
			if err == nil && !tt.worker(l.Grant().WorkerID) {
				t.Errorf("worker %d is held", l.Grant().WorkerID)
			}
			t.Logf("%d requests, %d keys, %d bytes: %v", m.requests.Load(), m.keys.Load(), m.bytes.Load(), err)
			if got := m.keys.Load(); got > tt.keys+others {
				t.Errorf("a claim read %d keys, want at most %d", got, tt.keys+others)
			}
			if got := m.requests.Load(); got > tt.pages+others {
				t.Errorf("a claim made %d requests, want at most %d", got, tt.pages+others)
			}
		})
	}
}

// The start is random: the free rows are found wherever it is.
func TestExpiredGoesRound(t *testing.T) {
	const rows = 2500
	client := connect(t, testserver.Etcd(t).DSN())
	s := etcdassigner.LeaseStore(client, namespace)
	free := func(w int64) bool { return w == 3 || w == 1700 || w == rows-1 }
	fill(t, client, s, rows, free)
	create(t, etcdassigner.LeaseStore(client, namespace+"0"), assigner.Row{WorkerID: 1, Version: 1})
	for _, next := range []int64{0, rows, 10 * rows} {
		if meta, err := s.LoadMeta(t.Context()); err != nil {
			t.Fatal(err)
		} else if meta.Version == 0 {
			pin(t, s, next)
		} else if ok, err := s.SwapMeta(t.Context(), meta, assigner.Meta{Version: meta.Version + 1, NextWorkerID: next}); !ok || err != nil {
			t.Fatalf("SwapMeta: %v, %v", ok, err)
		}
		for _, tt := range []struct{ n, want int }{{-1, 0}, {0, 0}, {1, 1}, {3, 3}, {10, 3}, {5000, 3}} {
			for range 5 {
				seen := make(map[int64]bool)
				got, err := s.Expired(t.Context(), tt.n)
				for _, row := range got {
					seen[row.WorkerID] = free(row.WorkerID)
				}
				if err != nil || len(got) != tt.want || len(seen) != tt.want {
					t.Errorf("NextWorkerID %d: Expired(%d) has %+v, %v; want %d rows", next, tt.n, got, err, tt.want)
				}
			}
		}
	}
}

func TestClaimsBeginAtDifferentRows(t *testing.T) {
	const rows = 500
	client := connect(t, testserver.Etcd(t).DSN())
	s := etcdassigner.LeaseStore(client, namespace)
	fill(t, client, s, rows, func(int64) bool { return true })
	pin(t, s, rows)
	first := make(map[int64]bool)
	for range 20 {
		got, err := s.Expired(t.Context(), 1)
		if err != nil || len(got) != 1 {
			t.Fatalf("Expired(1): %v, %v", got, err)
		}
		first[got[0].WorkerID] = true
	}
	if len(first) < 10 {
		t.Errorf("20 calls began at %d rows, want 10 at least", len(first))
	}
}

// TestStatusHasTheTimeOfTheLastWrite is exact, where the conformance suite allows a second.
func TestStatusHasTheTimeOfTheLastWrite(t *testing.T) {
	server := testserver.Etcd(t)
	s, other := etcdassigner.LeaseStore(connect(t, server.DSN()), namespace), etcdassigner.LeaseStore(connect(t, server.DSN()), namespace)
	if st := look(t, s); !st.Seen.IsZero() {
		t.Errorf("seen %v before the first write, want zero", st.Seen)
	}
	row, meta := sample(), sampleMeta(namespace)
	for i, write := range []func() (bool, error){
		func() (bool, error) { return s.Swap(t.Context(), assigner.Row{}, row, time.Hour) },
		func() (bool, error) { return s.SwapMeta(t.Context(), assigner.Meta{}, meta) },
		func() (bool, error) { return s.Swap(t.Context(), row, row, time.Hour) },
		func() (bool, error) { return s.SwapMeta(t.Context(), meta, meta) },
	} {
		begin := time.Now()
		if ok, err := write(); !ok || err != nil {
			t.Fatalf("write %d: %v, %v", i, ok, err)
		}
		end := time.Now()
		if st := look(t, other); st.Seen.Before(begin) || st.Seen.After(end) {
			t.Errorf("write %d: seen %v, want %v to %v", i, st.Seen, begin, end)
		}
	}
	before := look(t, other).Seen
	wrong := row
	wrong.Fence++
	if ok, err := s.Swap(t.Context(), wrong, row, time.Hour); ok || err != nil {
		t.Errorf("Swap from another fence: %v, %v; want false", ok, err)
	}
	if after := look(t, other).Seen; !after.Equal(before) {
		t.Errorf("seen %v after a swap that was refused, was %v", after, before)
	}
}
