package assigner

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Goroutines that share an assigner take grants that have no delta in common.
func TestAssignBySeveralGenerators(t *testing.T) {
	for name, open := range map[string]func(leasestore.Store) Assigner{
		"Leased": leased,
		"Fenced": func(s leasestore.Store) Assigner {
			return clocked(Fenced(s, Static(2), "orders-2", LeaseConfig{Window: shortWindow.Window, MaxLead: 24 * time.Hour}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newMemStore()
			s.status.Lossy = name == "Leased"
			a := hasty(open(s))
			d := memDomain()
			d.Registered = name == "Fenced"
			var firsts sync.Map
			testkit.Together(4, func(int) {
				for range 50 {
					l, err := a.Assign(t.Context(), d)
					if err != nil {
						if !errors.Is(err, ErrWorkerInUse) && !errors.Is(err, ErrQuarantined) && !errors.Is(err, ErrWorkersExhausted) {
							t.Error(err)
						}
						continue
					}
					if _, twice := firsts.LoadOrStore(l.Grant().First, true); twice {
						t.Errorf("two grants begin at %d", l.Grant().First)
					}
					if err := l.Renew(t.Context(), 0, 0); err != nil && !errors.Is(err, ErrWorkerRowLost) {
						t.Error(err)
					}
					if err := l.Release(t.Context(), 0); err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}
