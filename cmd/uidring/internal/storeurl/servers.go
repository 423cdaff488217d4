package storeurl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-zookeeper/zk"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/uidring/uidring/assigner/dynamoassigner"
	"github.com/uidring/uidring/assigner/etcdassigner"
	"github.com/uidring/uidring/assigner/k8sassigner"
	"github.com/uidring/uidring/assigner/natsassigner"
	"github.com/uidring/uidring/assigner/redisassigner"
	"github.com/uidring/uidring/assigner/remoteassigner"
	"github.com/uidring/uidring/assigner/zkassigner"
	"github.com/uidring/uidring/internal/httpcall"
	"github.com/uidring/uidring/schema"
	"github.com/uidring/uidring/segment"
)

func openRedis(s *Store, u *url.URL, namespace string, config *tls.Config) error {
	if strings.Contains(u.Host, ",") {
		return errors.New("several hosts, allowed: one; the Go library connects to Sentinel and Cluster")
	}
	client, err := dialRedis(u, config)
	if err != nil {
		return err
	}
	s.Store, s.close = redisassigner.LeaseStore(client, namespace, redisassigner.Config{}), client.Close
	s.segments = func(allowUndurable bool) segment.Source {
		return redisassigner.SegmentSource(client, redisassigner.SegmentConfig{AllowUndurable: allowUndurable})
	}
	return nil
}

// dialRedis returns a client, which connects when it is used. config has the certificates of the
// URL; nil: none.
func dialRedis(u *url.URL, config *tls.Config) (*redis.Client, error) {
	logging.Disable() // of all clients: their errors contain the text that they would write to stderr
	opt, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, err
	}
	opt.ContextTimeoutEnabled = true
	if config != nil {
		opt.TLSConfig.RootCAs, opt.TLSConfig.Certificates = config.RootCAs, config.Certificates
	}
	return redis.NewClient(opt), nil
}

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
	s.Store, s.close = etcdassigner.LeaseStore(client, namespace, etcdassigner.Config{}), client.Close
	s.segments = func(bool) segment.Source { return etcdassigner.SegmentSource(client, etcdassigner.SegmentConfig{}) }
	return nil
}

// openZooKeeper connects in the background, and waits for a server if the URL has a user: the
// client sends the password once it is connected. The znodes are then for that user only.
func openZooKeeper(s *Store, u *url.URL, namespace string, config *tls.Config) error {
	silent := log.New(io.Discard, "", 0) // errors contain the text that it would write
	conn, _, err := zk.Connect(endpoints(u.Host, "2181"), 10*time.Second, zk.WithLogger(silent),
		zk.WithHostProvider(zkassigner.HostProvider()), zk.WithDialer(zkDialer(config)))
	if err != nil {
		return err
	}
	var cfg zkassigner.Config
	cfg.Root = strings.TrimSuffix(u.Path, "/")
	if u.User != nil {
		cfg.ACL = zk.AuthACL(zk.PermAll)
		if err := zkLogin(conn, u.User); err != nil {
			conn.Close()
			return noLogin(u, err)
		}
	}
	s.Store = zkassigner.LeaseStore(conn, namespace, cfg)
	s.close = func() error { conn.Close(); return nil }
	return nil
}

// zkLogin adds a user to all sessions of a client. The servers accept every user; a wrong password
// gives no access to the znodes.
func zkLogin(conn *zk.Conn, user *url.Userinfo) error {
	password, _ := user.Password()
	answer := make(chan error, 1)
	go func() { answer <- conn.AddAuth("digest", []byte(user.Username()+":"+password)) }()
	select {
	case err := <-answer:
		return err
	case <-time.After(dialTimeout):
		return errors.New("no server has answered within " + dialTimeout.String())
	}
}

// zkDialer returns a function that opens connections, with TLS unless config is nil.
func zkDialer(config *tls.Config) zk.Dialer {
	if config == nil {
		return net.DialTimeout
	}
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		return tls.DialWithDialer(&net.Dialer{Timeout: timeout}, network, address, config)
	}
}

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
	s.create = func(ctx context.Context, _ []schema.Group) ([]string, error) {
		return createBucket(ctx, js, bucket, replicas)
	}
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
func createBucket(ctx context.Context, js jetstream.JetStream, bucket string, replicas int) (made []string, err error) {
	_, err = js.KeyValue(ctx, bucket)
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, err
	}
	if replicas == 0 {
		return nil, fmt.Errorf("%w: %s; create its stream with natsassigner.StreamConfig, or add the parameter replicas to the URL: "+
			"3 in a cluster, 1 on a single server, where each start waits 3 min", err, bucket)
	}
	_, err = js.CreateStream(ctx, natsassigner.StreamConfig(bucket, replicas))
	return []string{bucket}, err // an equal stream that another process has created is not an error
}

// openDynamoDB takes credentials, and a region that is not in the URL, from where all tools of AWS
// take them: the environment, the files in ~/.aws, and the role of the container, function or host.
func openDynamoDB(s *Store, u *url.URL, namespace string, _ *tls.Config) error {
	table, err := pathName(u, "a table")
	if err != nil {
		return err
	}
	if u.User != nil {
		return errors.New("a user, allowed: none; credentials come from the environment, ~/.aws or the role of the process")
	}
	if strings.ContainsAny(u.Host, ".:") {
		return fmt.Errorf("region %q, allowed: such as eu-central-1; the parameter endpoint has the address of a server", u.Host)
	}
	options := []func(*config.LoadOptions) error{config.WithRegion(u.Host)}
	if endpoint := u.Query().Get("endpoint"); endpoint != "" {
		options = append(options, config.WithBaseEndpoint(endpoint))
	}
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return err
	}
	if cfg.Region == "" {
		return errors.New("no region, allowed: dynamodb://region/table, or a region in AWS_REGION or ~/.aws/config")
	}
	client := dynamodb.NewFromConfig(cfg)
	s.Store = dynamoassigner.LeaseStore(client, table, namespace, dynamoassigner.Config{})
	s.create = func(ctx context.Context, _ []schema.Group) ([]string, error) { return createTable(ctx, client, table) }
	return nil
}

// createTable creates a missing table, and waits until it takes items. It needs no right to create
// tables if the table exists.
func createTable(ctx context.Context, client *dynamodb.Client, table string) (made []string, err error) {
	_, err = client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); !missing {
		return nil, err
	}
	_, err = client.CreateTable(ctx, dynamoassigner.Table(table))
	if _, exists := errors.AsType[*types.ResourceInUseException](err); err != nil && !exists {
		return nil, err
	}
	wait := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay, o.MaxDelay = time.Second, time.Second })
	return []string{table}, wait.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &table}, time.Minute)
}

// openKubernetes uses the service account of the pod, or with a host the program kubectl proxy on
// this computer, which adds the credentials of its user.
func openKubernetes(s *Store, u *url.URL, namespace string, _ *tls.Config) error {
	if u.User != nil {
		return errors.New("a user, allowed: none; credentials come from the service account of the pod, or from kubectl proxy")
	}
	cluster, err := clusterOf(u)
	if err != nil {
		return err
	}
	if u.Host != "" || strings.Trim(u.Path, "/") != "" {
		if cluster.Namespace, err = pathName(u, "a Kubernetes namespace"); err != nil {
			return err
		}
	}
	s.Store = k8sassigner.LeaseStore(cluster, namespace, k8sassigner.Config{})
	s.close = func() error { cluster.Client.CloseIdleConnections(); return nil }
	return nil
}

func clusterOf(u *url.URL) (k8sassigner.Cluster, error) {
	if u.Host == "" {
		cluster, err := k8sassigner.InCluster()
		if err != nil {
			err = fmt.Errorf("%w; elsewhere run kubectl proxy, allowed: kubernetes://127.0.0.1:8001/namespace", err)
		}
		return cluster, err
	}
	if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return k8sassigner.Cluster{}, fmt.Errorf("host %q, allowed: none in a pod, else the address of kubectl proxy on this computer, such as 127.0.0.1:8001", u.Host)
	}
	return k8sassigner.Cluster{
		URL:    "http://" + u.Host,
		Client: &http.Client{Timeout: 30 * time.Second},
	}, nil
}

// openRemote opens the leases that servers offer, see uidring serve --leases. The password of the
// URL is the token.
func openRemote(s *Store, u *url.URL, namespace string, config *tls.Config) error {
	token, _ := u.User.Password()
	if u.User != nil && (u.User.Username() != "" || token == "") {
		return errors.New("a user, allowed: a token alone, as in https://:token@host")
	}
	hosts := append([]string{u.Host}, u.Query()["addr"]...) // package url rejects several in the host of an https URL
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	cfg := remoteassigner.Config{Token: token}
	var urls []string
	for _, host := range endpoints(strings.Join(hosts, ","), port) {
		urls = append(urls, (&url.URL{Scheme: u.Scheme, Host: host, Path: strings.TrimSuffix(u.Path, "/")}).String())
	}
	if config != nil {
		cfg.Client = &http.Client{Transport: httpcall.NewTransport(config), Timeout: 30 * time.Second}
	}
	s.Store = remoteassigner.LeaseStore(urls, namespace, cfg)
	return nil
}
