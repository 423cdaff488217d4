// Package conns limits the connections of servers, in total and for each address. Near the limit
// it closes connections that wait for a request, the longest waiting first, and keeps some places
// for probes.
package conns

import (
	"cmp"
	"container/list"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/uidring/uidring/cmd/uidring/internal/throttle"
)

const mostReserved = 64 // places for probes

// A Config configures a Set.
type Config struct {
	// Max is the largest number of connections, at least 1. An eighth of them, at most 64, are
	// reserved, see Set.Surplus.
	Max int
	// PerAddress is the largest number of connections from an IPv4 address or a /64 network of
	// IPv6, other than loopback; 0: no limit.
	PerAddress int
	// FirstRequest is how long a new connection may take to send a request before it counts as
	// idle; zero: 1 s.
	FirstRequest time.Duration
	// Logger gets a record when a limit is reached; required.
	Logger *slog.Logger
}

// A Set is the open connections of one or more servers. Any number of goroutines may use it.
type Set struct {
	cfg      Config
	reserved int

	mu     sync.Mutex
	freed  sync.Cond // a connection was closed, or waits for a request, or the listener was closed
	open   map[*conn]struct{}
	active int
	idle   list.List // of *conn without a request, the longest waiting first
	from   map[netip.Prefix]int
	ended  bool // a listener is closed

	closed         [reasons]int64 // connections that the Set has closed
	full, fullFrom throttle.Episode
}

// A reason is why the Set has closed a connection.
type reason int

const (
	byLimit   reason = iota // for a newer one
	byAddress               // too many of its address
	reasons
)

// New returns a Set without connections.
func New(cfg Config) *Set {
	cfg.FirstRequest = cmp.Or(cfg.FirstRequest, time.Second)
	s := &Set{cfg: cfg, reserved: min(cfg.Max/8, mostReserved), open: make(map[*conn]struct{}), from: make(map[netip.Prefix]int)}
	s.freed.L = &s.mu
	return s
}

// A conn is a connection of a Set, which guards all fields but net.Conn and surplus.
type conn struct {
	net.Conn
	set     *Set
	surplus bool

	address  netip.Prefix  // zero: loopback or no IP address
	accepted time.Time     // and no request since; zero: it has sent a request
	waiting  *list.Element // in Set.idle; nil: a request is under way
	gone     bool
}

// Limit returns a listener whose connections belong to the Set. Accept waits while the Set is full
// and all connections have requests under way.
func (s *Set) Limit(l net.Listener) net.Listener {
	return &listener{l, s, sync.OnceValue(l.Close)}
}

type listener struct {
	net.Listener
	set   *Set
	close func() error // once: http.Server.Shutdown closes it again, and returns the error
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.set.add(accepted); c != nil {
			return c, nil
		}
	}
}

func (l *listener) Close() error {
	err := l.close()
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	l.set.ended = true
	l.set.freed.Broadcast()
	return err
}

// add adds a connection, or closes it and returns nil.
func (s *Set) add(accepted net.Conn) *conn {
	c := &conn{Conn: accepted, set: s, address: addressOf(accepted.RemoteAddr()), accepted: time.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.roomFrom(c.address) {
		s.closed[byAddress]++
		_ = accepted.Close() // the client sees a connection that is closed
		return nil
	}
	for !s.room(c) {
		if s.ended {
			_ = accepted.Close()
			return nil
		}
		s.freed.Wait()
	}
	s.open[c] = struct{}{}
	if c.address.IsValid() {
		s.from[c.address]++
	}
	c.waiting = s.idle.PushBack(c)
	return c
}

// roomFrom makes room for a connection of an address. It reports false if all connections of the
// address have requests under way.
func (s *Set) roomFrom(address netip.Prefix) bool {
	if s.cfg.PerAddress == 0 || s.from[address] < s.cfg.PerAddress {
		return true
	}
	if s.fullFrom.Begins() {
		s.cfg.Logger.Warn("connections of one address are at their limit: the longest idle one is closed for each new one",
			"address", address.String(), "limit", s.cfg.PerAddress, "setting", "max-per-address")
	}
	for e := s.idle.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*conn); c.address == address && c.isIdle() {
			s.evict(c, byAddress)
			return true
		}
	}
	return false
}

// room makes room for a connection, and decides whether it is surplus. It reports false if there is
// no room.
func (s *Set) room(c *conn) bool {
	if len(s.open) < s.cfg.Max-s.reserved {
		return true
	}
	if s.full.Begins() {
		s.cfg.Logger.Warn("connections are at their limit: the longest idle one is closed for each new one, and probes alone are answered if none is idle",
			"connections", len(s.open), "limit", s.cfg.Max, "setting", "max-connections")
	}
	first := s.idle.Front()
	if first != nil && (first.Value.(*conn).isIdle() || len(s.open) >= s.cfg.Max) {
		s.evict(first.Value.(*conn), byLimit)
	}
	c.surplus = len(s.open) >= s.cfg.Max-s.reserved
	return len(s.open) < s.cfg.Max
}

// isIdle reports whether a connection without a request is closed before the reserved places are
// used. Requests of new connections may be under way to the server.
func (c *conn) isIdle() bool {
	return c.accepted.IsZero() || time.Since(c.accepted) >= c.set.cfg.FirstRequest
}

func (s *Set) evict(c *conn, why reason) {
	s.closed[why]++
	s.remove(c)
	_ = c.Conn.Close() // the server sees an error of its next read, and closes its side
}

func (s *Set) remove(c *conn) {
	if c.gone {
		return
	}
	c.gone = true
	delete(s.open, c)
	if c.waiting != nil {
		s.idle.Remove(c.waiting)
		c.waiting = nil
	} else {
		s.active--
	}
	if c.address.IsValid() {
		if s.from[c.address]--; s.from[c.address] == 0 {
			delete(s.from, c.address)
		}
	}
	s.freed.Signal()
}

// Close closes the connection and frees its place.
func (c *conn) Close() error {
	c.set.mu.Lock()
	c.set.remove(c)
	c.set.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite lets a server end its answer before it closes the connection, so that the client
// reads the answer although the server has not read all of the request.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Track is for http.Server.ConnState, and other servers that call it in the same way.
func (s *Set) Track(accepted net.Conn, state http.ConnState) {
	c := ofSet(accepted)
	if c == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.gone:
	case state == http.StateActive && c.waiting != nil:
		c.accepted = time.Time{}
		s.idle.Remove(c.waiting)
		c.waiting = nil
		s.active++
	case state == http.StateIdle && c.waiting == nil:
		c.waiting = s.idle.PushBack(c)
		s.active--
		s.freed.Signal()
	}
}

// Surplus reports whether a connection took one of the reserved places. The server should answer
// probes on it alone, and then close it.
func (s *Set) Surplus(accepted net.Conn) bool {
	c := ofSet(accepted)
	return c != nil && c.surplus
}

// ofSet returns the connection of a Set that is accepted, or below the TLS of accepted.
func ofSet(accepted net.Conn) *conn {
	if encrypted, ok := accepted.(interface{ NetConn() net.Conn }); ok {
		accepted = encrypted.NetConn()
	}
	c, _ := accepted.(*conn)
	return c
}

// addressOf returns the address whose connections are counted together.
func addressOf(remote net.Addr) netip.Prefix {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip, _ := netip.AddrFromSlice(tcp.IP)
	ip = ip.Unmap()
	if ip.IsLoopback() {
		return netip.Prefix{}
	}
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	prefix, _ := ip.Prefix(bits) // zero for an invalid IP
	return prefix
}
