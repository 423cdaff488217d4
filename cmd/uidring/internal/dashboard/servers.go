package dashboard

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/generator"
)

const (
	listEvery   = 10 * time.Second // and only while the page has viewers
	listTimeout = 5 * time.Second
	listMost    = 100 // servers
	// listExpired is how long the page shows a server whose lease has expired.
	listExpired = time.Hour
)

// servers lists the holders of worker IDs of the namespace, by the store.
type servers struct {
	store leasestore.Store
	alloc *bitsalloc.Allocator
	asked chan struct{} // has an entry if a viewer wants a newer list

	mu    sync.Mutex
	at    time.Time
	last  serverList
	event []byte // nil: none yet
}

// latest returns the last list as an event, and asks for a newer one if it is old.
func (s *servers) latest() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.event == nil || time.Since(s.at) >= listEvery {
		generator.Signal(s.asked)
	}
	return s.event
}

// run reads the store when a viewer has asked, until ctx ends. The pause after a list is at least
// as long as nine times the list took.
func (s *servers) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.asked:
		}
		began := time.Now()
		s.read(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(listEvery, 9*time.Since(began))):
		}
	}
}

// serverList is the event "servers". Durations are in seconds.
type serverList struct {
	Time    number   `json:"time"`   // of the store, seconds since 1970
	Failed  bool     `json:"failed"` // the store does not answer; the list is the last one
	Servers []server `json:"servers"`
	More    int      `json:"more"` // servers that the list leaves out
}

type server struct {
	WorkerID int64  `json:"worker,string"`
	Owner    string `json:"owner"`
	Ahead    number `json:"ahead"` // of the fence, ahead of the store's clock
	Left     number `json:"left"`  // until the lease expires unless renewed; negative: expired
}

// read reads the store. If that fails it keeps the last list, and says so. It does not pass on the
// text of the error, which the log has too.
func (s *servers) read(ctx context.Context) {
	list, err := s.list(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		list = s.last
	}
	list.Failed = err != nil
	s.at, s.last, s.event = time.Now(), list, event("servers", list)
}

func (s *servers) list(ctx context.Context) (serverList, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	status, err := s.store.Status(ctx)
	if err != nil {
		return serverList{}, err
	}
	rows, err := s.store.List(ctx)
	if err != nil {
		return serverList{}, err
	}
	rows = slices.DeleteFunc(rows, func(r leasestore.Row) bool {
		return r.Free() || r.Revoked() || status.Now.Sub(r.Expires) > listExpired
	})
	slices.SortFunc(rows, func(a, b leasestore.Row) int { return cmp.Compare(a.WorkerID, b.WorkerID) })
	l := serverList{Time: seconds(status.Now), Servers: []server{}, More: max(0, len(rows)-listMost)}
	for _, r := range rows[:min(len(rows), listMost)] {
		l.Servers = append(l.Servers, server{r.WorkerID, r.Owner,
			number(s.alloc.Time(r.Fence).Sub(status.Now).Seconds()), number(r.Expires.Sub(status.Now).Seconds())})
	}
	return l, nil
}
