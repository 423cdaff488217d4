package assignertest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
)

func modelFixture(fault string) assignertest.AssignerFixture {
	m := &model{fault: fault, leases: make(map[string]*lease)}
	return assignertest.AssignerFixture{
		Assigner:  func(key string) assigner.Assigner { return holderOf{m, key} },
		Guarantee: assigner.GuaranteeSticky,
		Reusable:  true,
		Pinned:    true,
		Delete:    m.delete,
	}
}

// A model keeps a worker ID for each key in memory, as a database would, with at most one fault.
type model struct {
	mu     sync.Mutex
	fault  string
	last   int64
	leases map[string]*lease // the last of each key
	pin    *assigner.Domain
}

func (m *model) delete(_ *testing.T, workerID int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.leases, func(_ string, l *lease) bool { return l.workerID == workerID })
}

type holderOf struct {
	*model
	key string
}

func (m holderOf) Assign(ctx context.Context, d assigner.Domain) (assigner.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil && m.fault != "ignores context" {
		return nil, err
	}
	if m.pin != nil && (m.pin.Layout != d.Layout || !m.pin.Epoch.Equal(d.Epoch)) && m.fault != "pins nothing" {
		return nil, assigner.ErrLayoutMismatch
	}
	m.pin = &d
	switch m.fault {
	case "folds case":
		m.key = strings.ToLower(m.key)
	case "always new":
		m.key = fmt.Sprint(m.key, " ", m.last)
	}
	l := &lease{m: m}
	switch last := m.leases[m.key]; {
	case last != nil:
		l.workerID = last.workerID
	case m.last == d.MaxWorkerID():
		return nil, assigner.ErrWorkersExhausted
	default:
		if m.fault != "constant" {
			m.last++
		}
		l.workerID = m.last
	}
	m.leases[m.key] = l
	return l, nil
}

type lease struct {
	m        holderOf
	workerID int64
	released bool
}

func (l *lease) Grant() assigner.Grant {
	g := assigner.Grant{WorkerID: l.workerID, First: 1, Limit: assigner.Unlimited, Guarantee: assigner.GuaranteeSticky, Reusable: true}
	if l.m.fault == "wrong guarantee" {
		g.Guarantee = assigner.GuaranteeFresh
	}
	return g
}

func (l *lease) Renew(context.Context, int64, int64) error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	switch {
	case l.m.fault == "renew fails":
		return errors.New("renew fails")
	case l.m.fault != "never looks" && l.m.leases[l.m.key] != l:
		return assigner.ErrWorkerRowLost
	}
	return nil
}

func (l *lease) Release(context.Context, int64) error {
	if l.released && l.m.fault == "release once" {
		return errors.New("released already")
	}
	l.released = true
	return nil
}
