package daemon

import (
	"net"
	"sync"
)

// A limited listener bounds its open connections; others wait in the queue of the kernel. Unlike
// netutil.LimitListener, its connections can be closed for writing alone, so that the client of a
// request that is too large reads the answer.
type limited struct {
	net.Listener
	places chan struct{} // has an entry for each open connection
	closed chan struct{}
	close  func() error // once: http.Server.Shutdown closes it again, and returns the error
}

// limit bounds the connections of a TCP listener.
func limit(l net.Listener, most int) *limited {
	n := &limited{Listener: l, places: make(chan struct{}, most), closed: make(chan struct{})}
	n.close = sync.OnceValue(func() error {
		close(n.closed)
		return l.Close()
	})
	return n
}

func (l *limited) Close() error { return l.close() }

// Accept waits for a place.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	free := sync.OnceFunc(func() { <-l.places })
	accepted, err := l.Listener.Accept()
	if err != nil {
		free()
		return nil, err
	}
	return &placed{accepted.(*net.TCPConn), free}, nil
}

// A placed connection frees its place when it is closed.
type placed struct {
	*net.TCPConn
	free func()
}

func (c *placed) Close() error {
	err := c.TCPConn.Close()
	c.free()
	return err
}
