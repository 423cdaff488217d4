package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/remoteassigner"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
)

// checkLeases rejects wrong names, and leases without tokens unless other clients on this host
// need none either.
func (cfg *Config) checkLeases() error {
	err := checkNames("leases", cfg.Leases, mostLeases)
	switch {
	case len(cfg.Leases) == 0 && cfg.LeaseTokenFile != "":
		err = errors.Join(err, errors.New("lease-tokens without leases, allowed: both"))
	case len(cfg.Leases) > 0 && cfg.LeaseTokenFile == "" && (cfg.TokenFile != "" || reachable(cfg.Listen) && !cfg.Insecure):
		err = errors.Join(err, errors.New("leases without lease-tokens, allowed: on an address of this host only, without tokens; "+
			"a client for leases can change all of them, so that the tokens for IDs do not suffice"))
	}
	return err
}

// leases are the stores of the namespaces that the service offers, by name.
type leases map[string]*storeurl.Store

// openLeases opens the namespaces of the configuration in the store of the service, which it uses
// itself for its own namespace.
func openLeases(cfg Config, own *storeurl.Store) (leases, error) {
	opened := make(leases)
	for _, name := range cfg.Leases {
		if name == cfg.Namespace {
			opened[name] = own
			continue
		}
		if own.Single() {
			return nil, fmt.Errorf("leases has %q, allowed: %q alone, since store %s has one namespace", name, cfg.Namespace, own)
		}
		s, err := storeurl.Open(cfg.StoreURL, name)
		if err != nil {
			return nil, errors.Join(err, opened.close(own))
		}
		opened[name] = s
	}
	return opened, nil
}

// handler returns the handler of the namespaces, or nil if there are none. A call on the store ends
// after storeTimeout.
func (l leases) handler() http.Handler {
	if len(l) == 0 {
		return nil
	}
	h := remoteassigner.NewHandler(func(namespace string) leasestore.Store {
		if s := l[namespace]; s != nil {
			return s.Store
		}
		return nil
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), storeTimeout)
		defer cancel()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// close closes the stores but the service's own.
func (l leases) close(own *storeurl.Store) error {
	var errs []error
	for _, s := range l {
		if s != own {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}
