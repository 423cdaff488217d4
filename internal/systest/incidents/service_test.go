package incidents_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
)

// A service is the configuration of a process, passed to it as JSON.
//
// With an address and no store, the worker ID is derived from the address. With both, the derived
// worker ID is fenced, and the address is the owner. With a store alone, the worker ID is leased.
type service struct {
	Default bool // defaultgen in place of cached
	Layout  bitsalloc.Layout
	Address string // of the host
	Folder  string // of package fileassigner
	DSN     string // of a MariaDB
	Window  time.Duration
	MaxSkew time.Duration
	Clock   time.Duration // how far the clock of the host is off
}

// A generator is one of the two of this module.
type generator interface {
	NextContext(context.Context) (int64, error)
	Parse(id int64) (bitsalloc.Fields, error)
	WorkerID() int64
	Close() error
}

// open returns the database of the service, or nil when it has none.
func (s service) open() (*sqlx.DB, error) {
	if s.DSN == "" {
		return nil, nil
	}
	return sqlassigner.OpenMySQL(s.DSN)
}

// store returns nil when the service has none.
func (s service) store(db *sqlx.DB) assigner.Store {
	switch {
	case s.Folder != "":
		return fileassigner.LeaseStore(s.Folder)
	case db != nil:
		return sqlassigner.LeaseStore(db, "orders", sqlassigner.Config{})
	}
	return nil
}

func (s service) assigner(ctx context.Context, db *sqlx.DB) (assigner.Assigner, error) {
	store := s.store(db)
	lease := assigner.LeaseConfig{Window: s.Window, MaxSkew: s.MaxSkew, MaxLead: 24 * time.Hour}
	if s.Address == "" {
		return assigner.Leased(store, lease), nil
	}
	addr, err := netip.ParseAddr(s.Address)
	if err != nil {
		return nil, err
	}
	derived := assigner.IPv4Suffix(addr, 10)
	if store == nil {
		return derived, nil
	}
	number, err := derived.Assign(ctx, assigner.Domain{Layout: s.Layout})
	if err != nil {
		return nil, err
	}
	return assigner.Fenced(store, number.Grant().WorkerID, s.Address, lease), nil
}

func (s service) now() time.Time { return time.Now().Add(s.Clock) }

// generator makes a generator. AllowReuse is for the derived numbers, whose users took that risk.
func (s service) generator(ctx context.Context, db *sqlx.DB) (generator, error) {
	a, err := s.assigner(ctx, db)
	if err != nil {
		return nil, err
	}
	if s.Default {
		return defaultgen.NewContext(ctx, defaultgen.Config{
			Layout: s.Layout, Assigner: a, AllowReuse: true, OnClockBack: defaultgen.GoOn, Now: s.now,
		})
	}
	return cached.NewContext(ctx, cached.Config{Layout: s.Layout, Assigner: a, AllowReuse: true, Now: s.now})
}

// start makes a generator and tries again while all numbers are taken, as a supervisor would.
func (s service) start(ctx context.Context, db *sqlx.DB) (generator, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		g, err := s.generator(ctx, db)
		if !errors.Is(err, assigner.ErrWorkersExhausted) {
			return g, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}
