package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

const (
	namespace = "chaos"
	// maxSkew is the allowed error of clocks; some clocks exceed it.
	maxSkew = time.Minute
	// maxLead is larger than the lead over the clock that the recoveries of a run add up to.
	maxLead = 365 * 24 * time.Hour
	// assignTimeout bounds each call of a generator to the store.
	assignTimeout = time.Second
)

// A profile is the configuration of a process's generator, passed as JSON.
type profile struct {
	DSN            string
	Layout         bitsalloc.Layout
	Number         int    // of the process, from 1
	Slot           int    // where it runs: its successor has the same
	Kind           string // of assigner: leased, auto, fenced, derived
	WorkerID       int64  // with fenced and derived
	Window         time.Duration
	Rate           int    // IDs a second that it asks for
	Mode           string // how: next, context, fill
	OnEmpty        cached.EmptyPolicy
	AllowUndurable bool
	MaxSkew        time.Duration
	Clock          time.Duration // how far the clock of the host is off at first
}

// newProfile draws the settings that may differ between the processes of a slot. The assigner is
// the same for all processes of a slot.
func newProfile(o options, r *rand.Rand, slot int) profile {
	p := profile{
		Layout:         layout(),
		Slot:           slot,
		Kind:           "leased",
		Window:         between(r, 2*time.Second, 5*time.Second),
		Rate:           []int{100, 2_000, 60_000, 80_000, 200_000, 400_000}[r.IntN(6)],
		Mode:           []string{"next", "context", "fill"}[r.IntN(3)],
		OnEmpty:        []cached.EmptyPolicy{cached.PadInline, cached.PadInline, cached.Reject}[r.IntN(3)],
		AllowUndurable: !o.durable(),
		MaxSkew:        maxSkew,
	}
	switch slot % 5 {
	case 3:
		p.Kind = "auto"
	case 4:
		p.Kind, p.WorkerID = "fenced", int64(slot%workers)
	}
	return p
}

// expiry is when a lease that is not renewed is offered again.
func (p profile) expiry() time.Duration { return 2 * p.Window }

func (p profile) assigner(db *sqlx.DB) (assigner.Assigner, error) {
	store := sqlassigner.LeaseStore(db, namespace, sqlassigner.Config{})
	cfg := assigner.LeaseConfig{
		Window:         p.Window,
		MaxLead:        maxLead,
		MaxSkew:        p.MaxSkew,
		Owner:          fmt.Sprintf("process %d", p.Number),
		AllowUndurable: p.AllowUndurable,
	}
	switch p.Kind {
	case "leased":
		return assigner.Leased(store, cfg), nil
	case "auto":
		return assigner.Auto(store, cfg), nil
	case "fenced":
		return assigner.Fenced(store, assigner.Static(p.WorkerID), fmt.Sprintf("slot %d", p.Slot), cfg), nil
	case "derived":
		return assigner.Static(p.WorkerID), nil
	}
	return nil, fmt.Errorf("assigner %q", p.Kind)
}

// through returns p with the server's address replaced by the address of a proxy.
func (p profile) through(dsn, server, proxy string) profile {
	p.DSN = strings.Replace(dsn, server, proxy, 1)
	return p
}
