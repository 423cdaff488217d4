package k8sassigner_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/k8sassigner"
)

// A wire runs functions before and after the first write that it sees.
type wire struct {
	base          http.RoundTripper
	mu            sync.Mutex
	writes        int
	before, after func() error // an error takes the place of the request, or of the answer
}

var errCut = errors.New("the wire is cut")

func (w *wire) wrap(base http.RoundTripper) http.RoundTripper {
	w.base = base
	return w
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return w.base.RoundTrip(r)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
	if w.before != nil && w.writes == 1 {
		if err := w.before(); err != nil {
			return nil, err
		}
	}
	answer, err := w.base.RoundTrip(r)
	if err == nil && w.after != nil && w.writes == 1 {
		if err := w.after(); err != nil {
			_ = answer.Body.Close()
			return nil, err
		}
	}
	return answer, err
}

func (w *wire) arm(before, after func() error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes, w.before, w.after = 0, before, after
}

func cut() error { return errCut }

// wantRow compares all but the expiry.
func wantRow(t *testing.T, s assigner.Store, want assigner.Row) {
	t.Helper()
	got := load(t, s, want.WorkerID)
	got.Expires = want.Expires
	if got != want {
		t.Errorf("row %+v, want %+v", got, want)
	}
}

func TestWritesUnderFire(t *testing.T) {
	k := startKubernetes(t)
	w := new(wire)
	s, other := k8sassigner.LeaseStore(k.cluster(t, w.wrap), namespace), k.store(t, namespace)
	row := sample()
	create(t, other, row, time.Hour)
	if _, err := s.Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	swapOther := func(change func(*assigner.Row)) func() error {
		return func() error {
			old := load(t, other, row.WorkerID)
			next := old
			change(&next)
			if ok, err := other.Swap(t.Context(), old, next, time.Hour); !ok || err != nil {
				t.Errorf("their swap: %v, %v", ok, err)
			}
			return nil
		}
	}
	remove := func() error {
		k.do(t, http.MethodDelete, "/uidring-orders-1.eu-4007", "")
		return nil
	}
	for _, tt := range []struct {
		name          string
		before, after func() error
		want          bool
		wantErr       error
		writes        int
		change        func(*assigner.Row) // the row at the end; nil: as the swap wants it
	}{
		{"request is lost", cut, nil, false, errCut, 1, func(*assigner.Row) {}},
		{"answer is lost", nil, cut, false, errCut, 1, nil},
		{"an equal row", swapOther(func(r *assigner.Row) { r.Owner = "theirs" }), nil, true, nil, 2, nil},
		{"a higher fence", swapOther(func(r *assigner.Row) { r.Fence++ }), nil, false, nil, 1, func(r *assigner.Row) { r.Fence++ }},
		{"a deleted row", remove, nil, false, nil, 1, func(r *assigner.Row) { *r = assigner.Row{} }},
	} {
		old := load(t, other, row.WorkerID)
		next := old
		next.Fence, next.Owner = old.Fence+100, "mine"
		w.arm(tt.before, tt.after)
		if ok, err := s.Swap(t.Context(), old, next, time.Hour); ok != tt.want || !errors.Is(err, tt.wantErr) {
			t.Errorf("%s: Swap: %v, %v; want %v, %v", tt.name, ok, err, tt.want, tt.wantErr)
		}
		if w.writes != tt.writes {
			t.Errorf("%s: %d writes, want %d", tt.name, w.writes, tt.writes)
		}
		if tt.change != nil {
			next = old
			tt.change(&next)
		}
		if next.Version == 0 {
			if got := load(t, other, row.WorkerID); got != next {
				t.Errorf("%s: row %+v, want none", tt.name, got)
			}
			continue
		}
		wantRow(t, other, next)
	}
}

// insist calls f again while a server comes back.
func insist(ctx context.Context, f func() error) (err error) {
	for ctx.Err() == nil {
		if err = f(); err == nil || errors.Is(err, assigner.ErrWorkerRowLost) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return err
}

func TestRenewalTakesFourRequests(t *testing.T) {
	k := startKubernetes(t)
	w, p := new(wire), new(pager)
	l, err := assigner.Leased(k8sassigner.LeaseStore(k.cluster(t, w.wrap, p.wrap), namespace), assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
	if err != nil {
		t.Fatal(err)
	}
	w.arm(nil, nil)
	p.requests.Store(0)
	if err := l.Renew(t.Context(), l.Grant().Limit, l.Grant().Limit+1); err != nil {
		t.Fatal(err)
	}
	if p.requests.Load() != 4 || w.writes != 1 {
		t.Errorf("%d requests, %d of them writes; want 4 and 1", p.requests.Load(), w.writes)
	}
	size := len(k.do(t, http.MethodGet, fmt.Sprintf("/uidring-%s-%d", namespace, l.Grant().WorkerID), ""))
	if size > 2000 {
		t.Errorf("an object takes %d bytes, want 2,000 at most", size)
	}
	t.Logf("an object takes %d bytes", size)
}

// A tool that copies objects to another cluster, or back into this one, creates them anew.
func TestObjectsThatWereRestoredAreQuarantined(t *testing.T) {
	k := startKubernetes(t)
	s := k.store(t, namespace)
	l, err := assigner.Leased(s, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range k.names(t, "app.kubernetes.io/managed-by=uidring") {
		text := string(k.do(t, http.MethodGet, "/"+name, ""))
		k.do(t, http.MethodDelete, "/"+name, "")
		version, _, _ := strings.Cut(text[strings.Index(text, `"resourceVersion":"`)+len(`"resourceVersion":"`):], `"`)
		k.do(t, http.MethodPost, "", strings.Replace(text, `"resourceVersion":"`+version+`"`, `"resourceVersion":""`, 1))
	}
	after, err := s.Status(t.Context())
	if err != nil || after.Identity == before.Identity {
		t.Errorf("identity %q, was %q, %v; want another", after.Identity, before.Identity, err)
	}
	_, err = assigner.Leased(s, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
	held, ok := errors.AsType[*assigner.QuarantineError](err)
	if !ok || !strings.Contains(err.Error(), before.Identity) || held.WorkerID == l.Grant().WorkerID {
		t.Errorf("Assign: %v; want a quarantine that names %q", err, before.Identity)
	}
}

// etcd that was put back has all UIDs: only the holder notices.
func TestHolderNoticesAnEtcdThatWasPutBack(t *testing.T) {
	data := t.TempDir() + "/data"
	k := startKubernetes(t, "--data-dir", data)
	s := k.store(t, namespace)
	l, err := assigner.Leased(s, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
	if err != nil {
		t.Fatal(err)
	}
	before, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	copyData := func(from, to string) {
		k.api.Stop()
		k.etcd.Stop()
		if err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(from)), os.Chmod(to, 0o700)); err != nil {
			t.Fatal(err)
		}
		k.etcd.Restart()
		k.api.Restart()
	}
	backup := t.TempDir() + "/backup"
	copyData(data, backup)
	limit := l.Grant().Limit
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := insist(ctx, func() error { return l.Renew(ctx, limit, limit+100) }); err != nil {
		t.Fatal(err)
	}
	copyData(backup, data)
	if after, err := s.Status(t.Context()); err != nil || after.Identity != before.Identity {
		t.Errorf("identity %q, %v; want %q", after.Identity, err, before.Identity)
	}
	err = insist(ctx, func() error { return l.Renew(ctx, limit, limit+200) })
	if !errors.Is(err, assigner.ErrFenceRegressed) || !errors.Is(err, assigner.ErrWorkerRowLost) {
		t.Errorf("Renew: %v, want ErrFenceRegressed and ErrWorkerRowLost", err)
	}
}

// A list takes so long that etcd has forgotten its beginning.
func TestListOfManyPagesStartsAgain(t *testing.T) {
	const rows = 1100
	k := startKubernetes(t)
	pages := &pager{}
	s := k8sassigner.LeaseStore(k.cluster(t, pages.wrap), namespace)
	const writers = 10
	var wg sync.WaitGroup
	for first := range int64(writers) {
		wg.Go(func() {
			row := sample()
			for row.WorkerID = first; row.WorkerID < rows; row.WorkerID += writers {
				if ok, err := s.Swap(t.Context(), assigner.Row{}, row, time.Hour); !ok || err != nil {
					t.Errorf("create row %d: %v, %v", row.WorkerID, ok, err)
				}
			}
		})
	}
	wg.Wait()
	pages.second = func() {
		row := load(t, s, 7)
		next := row
		next.Fence++
		if ok, err := k.store(t, namespace).Swap(t.Context(), row, next, time.Hour); !ok || err != nil {
			t.Errorf("Swap: %v, %v", ok, err)
		}
		k.compact(t)
		k.api.Kill9()
		k.api.Restart() // the server remembers lists
	}
	got, err := s.List(t.Context())
	if err != nil || len(got) != rows {
		t.Errorf("%d rows, %v; want %d", len(got), err, rows)
	}
	seen := make(map[int64]bool)
	for _, r := range got {
		seen[r.WorkerID] = true
	}
	if len(seen) != rows {
		t.Errorf("%d different rows, want %d", len(seen), rows)
	}
	if pages.expired == 0 {
		t.Error("the API server remembered the beginning of the list")
	}
}

// A pager runs a function before the first request for a second page.
type pager struct {
	base     http.RoundTripper
	second   func()
	requests atomic.Int64
	expired  int // answers 410
}

func (p *pager) wrap(base http.RoundTripper) http.RoundTripper {
	p.base = base
	return p
}

func (p *pager) RoundTrip(r *http.Request) (*http.Response, error) {
	if f := p.second; f != nil && r.URL.Query().Has("continue") {
		p.second = nil
		f()
	}
	p.requests.Add(1)
	answer, err := p.base.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusGone {
		p.expired++
	}
	return answer, err
}

// compact removes old revisions from etcd, as the API server does every five minutes.
func (k *kubernetes) compact(t *testing.T) {
	t.Helper()
	ask := func(path, body string) string {
		answer, err := http.Post(k.etcd.DSN()+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v\n%s", path, answer.Status, err, text)
		}
		return string(text)
	}
	_, text, _ := strings.Cut(ask("/v3/kv/range", `{"key":"Lw=="}`), `"revision":"`)
	revision, _, _ := strings.Cut(text, `"`)
	ask("/v3/kv/compaction", fmt.Sprintf(`{"revision":%s,"physical":true}`, revision))
}
