package storeurl

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/assigner/redisassigner"
)

func openRedis(s *Store, u *url.URL, namespace string) error {
	params := u.Query()
	config, err := tlsConfig(params)
	switch {
	case err != nil:
		return err
	case config != nil && u.Scheme != "rediss":
		return errors.New("ca, cert or key without TLS, allowed: with rediss://")
	}
	bare := *u
	bare.RawQuery = params.Encode()
	opt, err := redis.ParseURL(bare.String())
	if err != nil {
		return err
	}
	opt.ContextTimeoutEnabled = true
	logging.Disable() // of all clients: their errors contain the text that they would write to stderr
	if config != nil {
		opt.TLSConfig.RootCAs, opt.TLSConfig.Certificates = config.RootCAs, config.Certificates
	}
	client := redis.NewClient(opt)
	s.Store, s.close = redisassigner.LeaseStore(client, namespace), client.Close
	return nil
}

func openEtcd(s *Store, u *url.URL, namespace string) error {
	params := u.Query()
	config, err := tlsConfig(params)
	if err != nil {
		return err
	}
	given := params.Get("tls")
	params.Del("tls")
	switch {
	case given != "" && given != "true":
		return fmt.Errorf("tls=%q, allowed: true", given)
	case given == "true" && config == nil:
		config = &tls.Config{}
	}
	if len(params) > 0 {
		return fmt.Errorf("parameters %s, allowed with etcd: tls, ca, cert, key", strings.Join(slices.Sorted(maps.Keys(params)), ", "))
	}
	if strings.Trim(u.Path, "/") != "" {
		return errors.New("a path, allowed: none; the namespace is a setting of its own")
	}
	password, _ := u.User.Password()
	client, err := clientv3.New(clientv3.Config{
		Endpoints:   endpoints(u.Host),
		Username:    u.User.Username(),
		Password:    password,
		TLS:         config,
		DialTimeout: dialTimeout,
		Logger:      zap.NewNop(), // errors contain the text that it would write
	})
	if err != nil {
		return fmt.Errorf("%w at %s: %w; check that the servers run, and address, user and password", ErrNoLogin, u.Host, err)
	}
	s.Store, s.close = etcdassigner.LeaseStore(client, namespace), client.Close
	return nil
}

// endpoints returns host and port of each member.
func endpoints(hosts string) []string {
	list := strings.Split(hosts, ",")
	for i, host := range list {
		if _, _, err := net.SplitHostPort(host); err != nil {
			list[i] = net.JoinHostPort(strings.Trim(host, "[]"), "2379")
		}
	}
	return list
}
