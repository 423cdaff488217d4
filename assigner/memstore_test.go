package assigner

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
)

// memStart is the delta that store and host agree on when a test begins.
const memStart = 1000

// shortWindow is the configuration of most tests.
var shortWindow = LeaseConfig{Window: 30 * time.Second}

// ownedBy returns shortWindow for Fenced.
func ownedBy(owner string) LeaseConfig {
	cfg := shortWindow
	cfg.Owner = owner
	return cfg
}

// A memStore keeps rows in memory. A test may intercept a swap and its answer, and a simulation
// changes its rules and takes commits back.
type memStore struct {
	mu      sync.Mutex
	status  leasestore.Status // Now is moved by the test
	meta    leasestore.Meta
	rows    map[int64]leasestore.Row
	commits []commit // oldest first

	others  map[string]leasestore.Meta          // the other namespaces; nil: they cannot be read
	creates bool                                // whether CreateFree creates rows
	matches predicate                           // of Swap
	write   func(leasestore.Row) leasestore.Row // applied to the row that a swap writes

	errMeta error                   // LoadMeta returns it beside the meta row
	onRead  func(what string) error // status, load-meta, load or list
	// onChange replaces a change, which is a swap or a swap-meta; do carries it out.
	onChange func(what string, do func() bool) (bool, error)
}

type predicate func(found, old leasestore.Row) bool

// A commit keeps the row, or the meta row, that a swap has replaced.
type commit struct {
	worker int64 // -1: the meta row
	row    leasestore.Row
	meta   leasestore.Meta
}

// errStore is the error of a store that has failed, errLostAnswer of a network that may have.
var errStore, errLostAnswer = errors.New("simulated store: no answer"), errors.New("connection reset")

func newMemStore() *memStore {
	return &memStore{
		status:  leasestore.Status{Now: memTime(memStart)},
		rows:    make(map[int64]leasestore.Row),
		matches: leasestore.Row.Same,
		write:   func(r leasestore.Row) leasestore.Row { return r },
	}
}

func memDomain() Domain {
	l := bitsalloc.Default()
	l.WorkerBits = 2
	return Domain{Layout: l, Epoch: bitsalloc.DefaultEpoch(), DatacenterID: 3, Now: func() int64 { return memStart }, MaxAhead: math.MaxInt64}
}

func memTime(delta int64) time.Time {
	return bitsalloc.DefaultEpoch().Add(time.Duration(delta) * time.Second)
}

// reading calls onRead.
func (s *memStore) reading(what string) error {
	if s.onRead == nil {
		return nil
	}
	return s.onRead(what)
}

// changing calls onChange.
func (s *memStore) changing(what string, change func() bool) (bool, error) {
	do := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return change()
	}
	if s.onChange == nil {
		return do(), nil
	}
	return s.onChange(what, do)
}

func (s *memStore) Status(context.Context) (leasestore.Status, error) {
	if err := s.reading("status"); err != nil {
		return leasestore.Status{}, err
	}
	return s.status, nil
}

func (s *memStore) LoadMeta(context.Context) (leasestore.Meta, error) {
	if err := s.reading("load-meta"); err != nil {
		return leasestore.Meta{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meta, s.errMeta
}

func (s *memStore) SwapMeta(_ context.Context, old, next leasestore.Meta) (bool, error) {
	return s.changing("swap-meta", func() bool {
		if !s.meta.Same(old) {
			return false
		}
		s.commits = append(s.commits, commit{worker: -1, meta: s.meta})
		s.meta = next
		return true
	})
}

func (s *memStore) Load(_ context.Context, worker int64) (leasestore.Row, error) {
	if err := s.reading("load"); err != nil {
		return leasestore.Row{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows[worker], nil
}

func (s *memStore) List(context.Context) ([]leasestore.Row, error) {
	if err := s.reading("list"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []leasestore.Row
	for _, worker := range slices.Sorted(maps.Keys(s.rows)) {
		rows = append(rows, s.rows[worker])
	}
	return rows, nil
}

func (s *memStore) Expired(ctx context.Context, n int) ([]leasestore.Row, error) {
	rows, err := s.List(ctx)
	rows = slices.DeleteFunc(rows, func(r leasestore.Row) bool { return r.Expires.After(s.status.Now) })
	return rows[:min(n, len(rows))], err
}

func (s *memStore) Swap(ctx context.Context, old, next leasestore.Row, ttl time.Duration) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return s.changing("swap", func() bool {
		found, exists := s.rows[next.WorkerID]
		if exists != (old.Version != 0) || exists && !s.matches(found, old) {
			return false
		}
		next.Expires = s.status.Now.Add(ttl)
		next = s.write(next)
		s.commits = append(s.commits, commit{worker: next.WorkerID, row: found})
		s.rows[next.WorkerID] = next
		return true
	})
}

func (s *memStore) CreateFree(ctx context.Context, rows []leasestore.Row, ttl time.Duration) (bool, error) {
	if len(rows) == 0 {
		panic("CreateFree of no rows")
	}
	if !s.creates {
		return false, nil
	}
	for _, row := range rows {
		if _, err := s.Swap(ctx, leasestore.Row{}, row, ttl); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (s *memStore) Namespaces(context.Context) (map[string]leasestore.Meta, error) {
	if s.others == nil && s.status.Namespace != "" {
		return nil, errLostAnswer
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]leasestore.Meta{s.status.Namespace: s.meta}
	maps.Copy(all, s.others)
	return all, nil
}

// rewind takes back the last n commits.
func (s *memStore) rewind(n int) {
	for range min(n, len(s.commits)) {
		last := s.commits[len(s.commits)-1]
		s.commits = s.commits[:len(s.commits)-1]
		switch {
		case last.worker < 0:
			s.meta = last.meta
		case last.row.Version == 0:
			delete(s.rows, last.worker)
		default:
			s.rows[last.worker] = last.row
		}
	}
}

// pin writes the meta row of memDomain, with all numbers below next given out.
func (s *memStore) pin(next int64) {
	d := memDomain()
	s.meta = leasestore.Meta{Version: 1, Namespace: "N", Layout: d.Layout, Epoch: d.Epoch, DatacenterID: d.DatacenterID, NextWorkerID: next}
}

func leased(s *memStore) *leaser { return clocked(Leased(s, shortWindow)) }

// take assigns a lease in a domain, and fails the test where there is none.
func take(t *testing.T, a Assigner, d Domain) Lease {
	t.Helper()
	l, err := a.Assign(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// clocked gives an assigner on a memStore the store's clock, which the test moves, in place of this
// host's.
func clocked(a Assigner) *leaser {
	l := a.(*leaser)
	s := l.store.(*memStore)
	l.clock = func() instant { return instant{s.status.Now, s.status.Now} }
	return l
}

// extend renews a lease whose holder has used deltas up to used and wants another.
func extend(ctx context.Context, l Lease, used, want int64) error {
	_, err := l.Renew(ctx, Use{Used: used, Want: want})
	return err
}
