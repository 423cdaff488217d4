package respapi

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
)

// Bounds of a connection.
const (
	loginTimeout   = 5 * time.Second  // for the TLS handshake, and for AUTH
	commandTimeout = 10 * time.Second // for the rest of a command that has begun
	idleTimeout    = 10 * time.Minute // between two commands
	writeTimeout   = 30 * time.Second // for each part of a reply
	mostBuffered   = 32 << 10         // bytes of replies, before a part is sent
)

// A conn is the connection of a client.
type conn struct {
	server  *Server
	id      int64
	raw     net.Conn
	in      *bufio.Reader // of received
	out     []byte        // replies that are not sent
	failed  error         // of the last write
	since   time.Time
	begun   time.Time        // of the command that is being read; zero: between commands
	session *httpapi.Session // nil until the API is open
	version int              // of RESP, 2 or 3
	ending  atomic.Bool
}

func newConn(s *Server, raw net.Conn) *conn {
	c := &conn{server: s, id: s.ids.Add(1), raw: raw, since: time.Now(), version: 2}
	c.in = bufio.NewReaderSize(received{c}, longestLine)
	return c
}

// received are the bytes of the client. Each read first sends the replies, since the client may
// wait for them before it sends more.
type received struct{ *conn }

func (r received) Read(p []byte) (int, error) {
	r.flush()
	if r.failed != nil {
		return 0, r.failed
	}
	deadline := time.Now().Add(idleTimeout)
	if !r.begun.IsZero() {
		deadline = r.begun.Add(commandTimeout)
	}
	if login := r.since.Add(loginTimeout); login.Before(deadline) && r.open() && !r.session.Admitted() {
		deadline = login
	}
	if err := r.raw.SetReadDeadline(deadline); err != nil {
		return 0, err
	}
	if r.ending.Load() { // after SetReadDeadline: stop may have set an earlier one before
		return 0, net.ErrClosed
	}
	if !r.begun.IsZero() {
		return r.raw.Read(p)
	}
	r.server.set.Track(r.raw, http.StateIdle)
	n, err := r.raw.Read(p)
	if n > 0 {
		r.server.set.Track(r.raw, http.StateActive)
	}
	return n, err
}

// open reports whether the API is open, and the connection has a session.
func (c *conn) open() bool {
	if c.session == nil {
		if api := c.server.api.Load(); api != nil {
			c.session = api.NewSession(c.raw.RemoteAddr().String())
		}
	}
	return c.session != nil
}

// close closes the connection. It first reads and drops more bytes of the client: the kernel
// would otherwise drop replies that the client has not received yet.
func (c *conn) close() {
	if half, ok := c.raw.(interface{ CloseWrite() error }); ok && c.failed == nil && half.CloseWrite() == nil {
		_ = c.raw.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		_, _ = io.Copy(io.Discard, io.LimitReader(c.raw, 1<<20))
	}
	_ = c.raw.Close()
}

// stop ends the connection after the commands that it has received.
func (c *conn) stop() {
	c.ending.Store(true)
	_ = c.raw.SetReadDeadline(time.Unix(1, 0))
}

// flush sends the replies.
func (c *conn) flush() {
	if len(c.out) > 0 && c.failed == nil {
		if c.failed = c.raw.SetWriteDeadline(time.Now().Add(writeTimeout)); c.failed == nil {
			_, c.failed = c.raw.Write(c.out)
		}
	}
	c.out = c.out[:0]
}

// serve answers commands until the connection ends.
func (c *conn) serve() {
	if encrypted, ok := c.raw.(*tls.Conn); ok {
		ctx, cancel := context.WithTimeout(c.server.ctx, loginTimeout)
		defer cancel()
		if encrypted.HandshakeContext(ctx) != nil {
			return
		}
	}
	defer c.flush()
	if c.server.set.Surplus(c.raw) {
		c.fail("too-many-connections", "ERR", "max number of clients reached")
		return
	}
	for c.failed == nil {
		args, inline, err := c.readCommand()
		if mistake, ok := errors.AsType[protocolError](err); ok {
			c.fail("protocol", "ERR", "Protocol error: "+string(mistake))
		}
		if err != nil {
			return
		}
		if len(args) > 0 && !c.answer(args, inline) {
			return
		}
	}
}

// answer answers a command, and reports whether the connection goes on.
func (c *conn) answer(args []string, inline bool) (again bool) {
	found, known := c.server.commands[lower(args[0])]
	if !known {
		c.fail("unknown", "ERR", "unknown command "+quote(args[0]))
		return !inline // a request of HTTP, perhaps by a page of another origin: do not read its body
	}
	began := time.Now()
	code := "internal"
	defer func() {
		if cause := recover(); cause != nil {
			c.server.logger.Error("panic while answering a Redis command", "command", found.name, "panic", fmt.Sprint(cause), "stack", string(debug.Stack()))
			c.out = appendError(c.out, "INTERNAL", "The log of the server says more.")
			again = false // part of a reply may be sent
		}
		c.server.metrics.count(found.name, code, time.Since(began))
	}()
	code = c.run(found, args)
	return code != quit
}

// run checks a command and runs it. It returns the code of its reply for the metrics.
func (c *conn) run(found command, args []string) (code string) {
	if len(args) < found.least || len(args) > found.most {
		return c.refuse("bad-request", "ERR", "wrong number of arguments for "+quote(found.name))
	}
	if found.name != "quit" && !c.open() {
		return c.refuse("loading", "LOADING", "A worker ID is being taken.")
	}
	if !found.open && !c.session.Admitted() {
		return c.refuse("unauthorized", "NOAUTH", "Authentication required.")
	}
	return found.run(c, args)
}

// refuse replies with an error, and returns its code.
func (c *conn) refuse(code, prefix, text string) string {
	c.out = appendError(c.out, prefix, text)
	return code
}

// fail replies with an error to bytes that are no known command.
func (c *conn) fail(code, prefix, text string) {
	c.server.metrics.count("", c.refuse(code, prefix, text), 0)
}
