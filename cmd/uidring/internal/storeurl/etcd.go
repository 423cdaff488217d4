package storeurl

import (
	"crypto/tls"
	"errors"
	"net/url"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/segment"
)

func openEtcd(s *Store, u *url.URL, namespace string, config *tls.Config) error {
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
		return noLogin(u, err)
	}
	s.Store, s.close = etcdassigner.LeaseStore(client, namespace), client.Close
	s.segments = func(bool) segment.Source { return etcdassigner.SegmentSource(client) }
	return nil
}
