package storeurl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/uidring/uidring/assigner/natsassigner"
)

// openNATS connects, since the client does not tell a server that is down from a wrong password
// afterwards. A user without a password is a token.
func openNATS(s *Store, u *url.URL, namespace string, config *tls.Config) error {
	bucket, err := pathName(u, "a bucket")
	if err != nil {
		return err
	}
	params := u.Query()
	if sync := params.Get("sync"); sync != "" && sync != "always" {
		return fmt.Errorf("sync=%q, allowed: always, if all servers run with sync_interval: always", sync)
	}
	replicas, err := strconv.Atoi(params.Get("replicas"))
	if params.Has("replicas") && (err != nil || replicas < 1 || replicas > 5) {
		return fmt.Errorf("replicas=%q, allowed: 1 to 5", params.Get("replicas"))
	}
	conn, err := nats.Connect(strings.Join(endpoints(u.Host, "4222"), ","), append(natsLogin(u),
		nats.Name("uidring"),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(), // a password may change while this process runs
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // the default one writes to stderr
		func(o *nats.Options) error {
			o.Secure, o.TLSConfig = config != nil, config
			return nil
		})...)
	if err != nil {
		return noLogin(u, err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return err
	}
	s.Store = natsassigner.LeaseStore(js, bucket, namespace, natsassigner.Config{SyncAlways: params.Get("sync") == "always"})
	s.close = func() error { conn.Close(); return nil }
	s.create = func(ctx context.Context) error { return createBucket(ctx, js, bucket, replicas) }
	return nil
}

func natsLogin(u *url.URL) (options []nats.Option) {
	user := u.User.Username()
	password, ok := u.User.Password()
	switch {
	case ok:
		options = append(options, nats.UserInfo(user, password))
	case user != "":
		options = append(options, nats.Token(user))
	}
	if file := u.Query().Get("creds"); file != "" {
		options = append(options, nats.UserCredentials(file))
	}
	return options
}

// createBucket creates a missing bucket. The caller gives the number of replicas: the servers do
// not know how many of them will form the cluster.
func createBucket(ctx context.Context, js jetstream.JetStream, bucket string, replicas int) error {
	_, err := js.KeyValue(ctx, bucket)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return err
	}
	if replicas == 0 {
		return fmt.Errorf("%w: %s; create its stream with natsassigner.StreamConfig, or add the parameter replicas to the URL: "+
			"3 in a cluster, 1 on a single server, where each start waits 90 s", err, bucket)
	}
	_, err = js.CreateStream(ctx, natsassigner.StreamConfig(bucket, replicas))
	return err // an equal stream that another process has created is not an error
}
