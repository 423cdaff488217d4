package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/server"
)

// storeTimeout bounds each call to the store of worker IDs.
const storeTimeout = 10 * time.Second

// A Config says what to serve, where, and to whom. No field has a default. Errors name the fields
// as the settings of the command are named.
type Config struct {
	// Listen is host:port. Where others than this host can reach it, TokenFile and CertFile have to
	// be there, or Insecure.
	Listen string
	// Insecure lets others reach the service without proving who they are, or in plain text.
	Insecure bool
	// CertFile and KeyFile are PEM files: a certificate with its chain, and its key. Both empty: no
	// TLS.
	CertFile, KeyFile string
	// MinTLS is the lowest version that is spoken, tls.VersionTLS12 or tls.VersionTLS13.
	MinTLS uint16
	// TokenFile has the tokens that clients show, see server.ParseTokens. Empty: none are asked
	// for.
	TokenFile string
	// MaxConnections are served at a time, at least 1. Others wait.
	MaxConnections int

	// MaxBatch, Rate, Burst and MaxRequests bound what clients draw, see server.Config.
	MaxBatch, Burst, MaxRequests int
	Rate                         float64

	// DSN is the URL of the store of worker IDs, see package store, and Namespace is one of it.
	DSN, Namespace string
	// CreateSchema makes what the store lacks.
	CreateSchema bool
	// KnownStores is a folder in which the service notes the stores on this host that it has used,
	// so that it notices when one is gone or when there would be a second. It is made if need be,
	// and lies outside the stores. Empty: nothing is noted.
	KnownStores string
	// NewStore makes a store where ErrSecondStore would be the answer.
	NewStore bool
	// Lease says how a worker ID is held. Its Logger is set here.
	Lease assigner.LeaseConfig
	// Generator says how IDs are made. Its Assigner, AssignTimeout and Logger are set here.
	Generator cached.Config

	// Drain is how long requests are taken after /readyz has begun to say no, 0 or more.
	Drain time.Duration
	// Grace is how long requests that are under way may take at the end, more than 0.
	Grace time.Duration

	// Version of the program, for the page.
	Version string
	// Logger gets what happens to the process; required.
	Logger *slog.Logger
}

// check reports all mistakes that can be seen before anything is opened.
func (cfg *Config) check() error {
	errs := []error{cfg.checkListen()}
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check((cfg.CertFile == "") == (cfg.KeyFile == ""), "tls-cert %q and tls-key %q, allowed: both or neither", cfg.CertFile, cfg.KeyFile)
	check(cfg.MinTLS == tls.VersionTLS12 || cfg.MinTLS == tls.VersionTLS13, "tls-min %s, allowed: 1.2, 1.3", tls.VersionName(cfg.MinTLS))
	check(cfg.MaxConnections >= 1, "max-connections %d, allowed: 1 or more", cfg.MaxConnections)
	check(cfg.MaxRequests >= 1, "max-requests %d, allowed: 1 or more", cfg.MaxRequests)
	check(cfg.MaxBatch >= 1 && cfg.MaxBatch <= server.LargestBatch, "max-batch %d, allowed: 1 to %d", cfg.MaxBatch, server.LargestBatch)
	check(cfg.Rate >= 0 && cfg.Rate <= math.MaxInt32, "rate %v, allowed: 0 (no limit) to %d", cfg.Rate, math.MaxInt32)
	check(cfg.Burst == 0 || cfg.Burst >= cfg.MaxBatch, "burst %d, allowed: 0 (the default) or at least max-batch, %d", cfg.Burst, cfg.MaxBatch)
	check(cfg.Lease.Window >= 0, "window %v, allowed: 0 (30s) or more", cfg.Lease.Window)
	check(cfg.Lease.FirstWorkerID >= 0, "first-worker-id %d, allowed: 0 or more, and within the worker field", cfg.Lease.FirstWorkerID)
	check(cfg.Drain >= 0, "drain %v, allowed: 0 or more", cfg.Drain)
	check(cfg.Grace > 0, "grace %v, allowed: more than 0", cfg.Grace)
	return errors.Join(append(errs, cfg.checkGenerator())...)
}

// errChecked ends the making of a generator whose configuration has no mistakes.
var errChecked = errors.New("service: the configuration of the generator has no mistakes")

// checkGenerator has the generator check its configuration, which comes before it asks for a worker
// ID.
func (cfg *Config) checkGenerator() error {
	generator := cfg.Generator
	generator.Assigner = nobody{}
	if _, err := cached.New(generator); !errors.Is(err, errChecked) {
		return renamed{err}
	}
	return nil
}

// A renamed error of the library names fields as the settings of the command are named.
type renamed struct{ error }

func (e renamed) Error() string {
	return strings.NewReplacer("cached: invalid config: ", "", "DatacenterID", "datacenter", "BoostPower", "boost-power", "MaxAhead", "max-ahead",
		"AllowUndurable", "allow-undurable", "FirstWorkerID", "first-worker-id").Replace(e.error.Error())
}

func (e renamed) Unwrap() error { return e.error }

// nobody has no worker ID to give.
type nobody struct{}

func (nobody) Assign(context.Context, assigner.Domain) (assigner.Lease, error) {
	return nil, errChecked
}
