package storeurl

import (
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/segment"
)

func openEtcd(s *Store, u *url.URL, namespace string) error {
	config, err := tlsConfig(u)
	if err != nil {
		return err
	}
	params := u.Query()
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
		Endpoints:   endpoints(u.Host, "2379"),
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
	s.segments = func(bool) segment.Source { return etcdassigner.SegmentSource(client) }
	return nil
}
