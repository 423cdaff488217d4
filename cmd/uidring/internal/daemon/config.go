package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
)

// storeTimeout is the time limit for each call to the store of worker IDs, but for calls of the
// generator.
const storeTimeout = 10 * time.Second

// A Config configures a Service. No field has a default. Errors use the names of the command's
// settings for the fields; mistakes in Generator have its names.
type Config struct {
	// Settings are of the API. An address in Listen or AdminListen that other hosts reach requires
	// TokenFile and CertFile, or Insecure.
	httpapi.Settings
	// Insecure allows other hosts to connect without tokens or without TLS.
	Insecure bool
	// CertFile and KeyFile are PEM files: a certificate with its chain, and its key. Both empty: no
	// TLS.
	CertFile, KeyFile string
	// TokenFile has the tokens of clients, see httpapi.ParseTokens. Empty: clients need no token.
	TokenFile string
	// MaxConnections is the largest number of concurrent connections to Listen, at least 1; others
	// wait. AdminListen has adminConnections of its own.
	MaxConnections int

	// StoreURL is the URL of the store of worker IDs, see package storeurl. Namespace is a
	// namespace of it.
	StoreURL, Namespace string
	// CreateSchema creates the missing parts of the store.
	CreateSchema bool
	// KnownStores is a folder with a note of the store of this host that each namespace has used
	// last. With it the service notices a lost store, or a second one. The service creates the
	// folder, which has to be outside of the stores. Empty: no notes.
	KnownStores string
	// NewStore creates a store where Run would otherwise return ErrSecondStore.
	NewStore bool
	// Lease configures the lease. The service sets its Logger, and its MaxLead to MaxAhead of the
	// generator if that is longer than the default.
	Lease assigner.LeaseConfig
	// Generator configures the generator. The service sets its Assigner and Logger.
	// MaxAhead is two windows at least; zero: two and a half, the default of Lease.MaxLead.
	Generator cached.Config

	// Segments are the names of the segments to serve, up to mostSegments. Their counters are in
	// the same store, and Lease.AllowUndurable applies to them.
	Segments []string

	// Leases are the names of the namespaces whose leases other processes may take over HTTP, and
	// LeaseTokenFile has their tokens, see httpapi.ParseTokens. Without a file they need no token,
	// which requires that other clients need none either.
	Leases         []string
	LeaseTokenFile string

	// Drain is the time from the first 503 of /readyz until the service stops listening, 0 or more.
	Drain time.Duration

	// For tests:
	grace  time.Duration // zero: graceTime
	linger time.Duration // zero: lingerTime
}

// check reports all mistakes that it finds without opening files or the store.
func (cfg *Config) check() error {
	errs := []error{cfg.checkListen("listen", cfg.Listen), cfg.checkListen("admin-listen", cfg.AdminListen), cfg.Settings.Check()}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(cfg.AdminListen != cfg.Listen || strings.HasSuffix(cfg.Listen, ":0"), "admin-listen %s, allowed: another address than listen", cfg.AdminListen)
	check((cfg.CertFile == "") == (cfg.KeyFile == ""), "tls-cert %q and tls-key %q, allowed: both or neither", cfg.CertFile, cfg.KeyFile)
	check(cfg.MaxConnections >= 1, "max-connections %d, allowed: 1 or more", cfg.MaxConnections)
	ahead, window, unit := cfg.Generator.MaxAhead, cfg.window(), cfg.Generator.Layout.Unit
	check(window >= unit && window <= mostSpan, "window %v, allowed: 0 (the default), or the unit of the layout, %v, to %v", window, unit, mostSpan)
	// A worker ID begins up to two windows ahead after a crash of its last holder.
	check(ahead == 0 || ahead >= 2*window && ahead <= mostSpan,
		"max-ahead %v with window %v, allowed: 0 (two and a half windows) or two windows to %v", ahead, window, mostSpan)
	check(cfg.Lease.FirstWorkerID >= 0, "first-worker-id %d, allowed: 0 or more, and within the worker field", cfg.Lease.FirstWorkerID)
	errs = append(errs, checkNames("segments", cfg.Segments, mostSegments), cfg.checkLeases())
	check(cfg.Drain >= 0, "drain %v, allowed: 0 or more", cfg.Drain)
	g := cfg.Generator
	g.Assigner, g.MaxAhead = assigner.Static(0), 0 // Run sets the Assigner; MaxAhead is checked
	return errors.Join(append(errs, g.Validate())...)
}

// mostSpan is the largest Window and MaxLead of assigner.LeaseConfig.
const mostSpan = 87600 * time.Hour

func (cfg *Config) window() time.Duration { return cmp.Or(cfg.Lease.Window, 2*time.Minute) }

// boundLead keeps the quarantine after a failover as long as IDs may be ahead of the clock: a
// shorter one would end while a server that the store has forgotten still issues IDs.
func (cfg *Config) boundLead() {
	usual := 5 * cfg.window() / 2
	if cfg.Generator.MaxAhead > usual {
		cfg.Lease.MaxLead = cfg.Generator.MaxAhead
	}
	cfg.Generator.MaxAhead = cmp.Or(cfg.Generator.MaxAhead, usual)
}

// The largest numbers of names: each segment has metrics of its own, and each namespace with leases
// has connections of its own.
const mostSegments, mostLeases = 64, 16

// checkNames reports all mistakes in the names of a setting.
func checkNames(setting string, names []string, most int) error {
	var errs []error
	if len(names) > most {
		errs = append(errs, fmt.Errorf("%s has %d names, allowed: up to %d", setting, len(names), most))
	}
	for i, name := range names {
		if err := leasestore.CheckNamespace(name); err != nil {
			errs = append(errs, fmt.Errorf("%s has %s", setting, strings.TrimPrefix(err.Error(), "leasestore: namespace ")))
		}
		if slices.Contains(names[:i], name) {
			errs = append(errs, fmt.Errorf("%s has %q twice, allowed: once", setting, name))
		}
	}
	return errors.Join(errs...)
}
