package storeurl

import (
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner/zkassigner"
)

// openZooKeeper connects in the background, and waits for a server if the URL has a user: the
// client sends the password once it is connected. The znodes are then for that user only.
func openZooKeeper(s *Store, u *url.URL, namespace string, config *tls.Config) error {
	hosts := endpoints(u.Host, "2181")
	rand.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	conn, _, err := zk.Connect(hosts, 10*time.Second, zk.WithLogger(silent{}), zk.WithHostProvider(new(inTurn)), zk.WithDialer(zkDialer(config)))
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

// silent drops the log records of the client, whose errors have the same text.
type silent struct{}

func (silent) Printf(string, ...any) {}

// inTurn hands out the servers to connect to, for the one goroutine of the client that connects.
// The client's own provider resolves their names once, so that it would neither find a server under
// a new address nor let TLS check the name.
type inTurn struct {
	servers []string
	next    int
	tried   int // since the last connection
}

func (h *inTurn) Init(servers []string) error {
	h.servers = servers
	return nil
}

func (h *inTurn) Len() int { return len(h.servers) }

// Next returns the next server. all reports that each one was tried since the last connection: the
// client then waits for a second.
func (h *inTurn) Next() (server string, all bool) {
	server, all = h.servers[h.next], h.tried > 0 && h.tried%len(h.servers) == 0
	h.next = (h.next + 1) % len(h.servers)
	h.tried++
	return server, all
}

func (h *inTurn) Connected() { h.tried = 0 }
