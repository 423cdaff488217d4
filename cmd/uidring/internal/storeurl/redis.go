package storeurl

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/segment"
)

// openRedis opens a server, a primary that Sentinels watch, or a cluster. The parsers of go-redis
// read the URL under the scheme redis or rediss, with the first host before and the other hosts in
// parameters addr.
func openRedis(s *Store, u *url.URL, namespace string, config *tls.Config) error {
	scheme, mode, _ := strings.Cut(u.Scheme, "-")
	switch {
	case mode == "" && strings.Contains(u.Host, ","):
		return errors.New("several hosts, allowed: one, or redis-sentinel:// or redis-cluster://")
	case mode == "cluster" && strings.Trim(u.Path, "/") != "":
		return errors.New("a path, allowed: none; a cluster has one database")
	}
	client, err := dialRedis(mode, redisURL(u, scheme, mode), config)
	if err != nil {
		return err
	}
	s.Store, s.close = redisassigner.LeaseStore(client, namespace), client.Close
	s.segments = func(allowUndurable bool) segment.Source {
		return redisassigner.SegmentSource(client, redisassigner.SegmentConfig{AllowUndurable: allowUndurable})
	}
	return nil
}

// redisURL returns the URL in the form of go-redis.
func redisURL(u *url.URL, scheme, mode string) *url.URL {
	port := "6379"
	if mode == "sentinel" {
		port = "26379"
	}
	hosts := endpoints(u.Host, port)
	bare, params := *u, u.Query()
	params["addr"] = append(hosts[1:], params["addr"]...)
	if len(params["addr"]) == 0 {
		delete(params, "addr")
	}
	bare.Scheme, bare.Host, bare.RawQuery = scheme, hosts[0], params.Encode()
	return &bare
}

// dialRedis returns a client, which connects when it is used. config has the certificates of the
// URL; nil: none.
func dialRedis(mode string, u *url.URL, config *tls.Config) (redis.UniversalClient, error) {
	logging.Disable() // of all clients: their errors contain the text that they would write to stderr
	if err := checkReplicas(u.Query()); err != nil {
		return nil, err
	}
	switch mode {
	case "sentinel":
		opt, err := redis.ParseFailoverURL(u.String())
		switch {
		case err != nil && u.Query().Has("password"): // an unescaped & or # in it makes the rest a parameter, which the error names
			return nil, errors.New("go-redis rejects the path or a parameter (not shown, since it may hold a piece of the password); write & and # as %26 and %23")
		case err != nil:
			return nil, err
		case opt.MasterName == "":
			return nil, errors.New("no master_name, allowed: the name of the primary in the Sentinels, as in redis-sentinel://host:26379/0?master_name=name")
		}
		opt.ContextTimeoutEnabled, opt.TLSConfig = true, certified(opt.TLSConfig, config)
		return redis.NewFailoverClient(opt), nil
	case "cluster":
		opt, err := redis.ParseClusterURL(u.String())
		if err != nil {
			return nil, err
		}
		opt.ContextTimeoutEnabled, opt.TLSConfig = true, certified(opt.TLSConfig, config)
		return redis.NewClusterClient(opt), nil
	}
	opt, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, err
	}
	opt.ContextTimeoutEnabled, opt.TLSConfig = true, certified(opt.TLSConfig, config)
	return redis.NewClient(opt), nil
}

// checkReplicas rejects the parameters that let a client read from replicas, which are stale.
func checkReplicas(params url.Values) error {
	for _, name := range [...]string{"read_only", "replica_only", "route_by_latency", "route_randomly", "use_disconnected_replicas"} {
		if params.Has(name) {
			return fmt.Errorf("parameter %s, allowed: none that reads from replicas", name)
		}
	}
	return nil
}

// certified adds the certificates of the URL to the TLS configuration of go-redis. It removes the
// name of the first host, so that each server is checked by its own name.
func certified(parsed, files *tls.Config) *tls.Config {
	if parsed != nil {
		parsed.ServerName = ""
	}
	if files != nil {
		parsed.RootCAs, parsed.Certificates = files.RootCAs, files.Certificates
	}
	return parsed
}
