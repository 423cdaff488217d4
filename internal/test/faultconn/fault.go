package faultconn

import (
	"math/rand/v2"
	"net"
	"time"
)

// A Direction of data on a wire.
type Direction int

// Up leads to the server, Down to the client.
const (
	Up Direction = iota
	Down
)

// A Fault affects the data of one direction. The zero Fault has no effect.
type Fault struct {
	// Delay and Jitter: each piece of data waits for Delay and a random part of Jitter.
	Delay, Jitter time.Duration
	// Rate is the largest number of bytes a second. 0: no limit.
	Rate int
	// Most is the number of bytes after which a connection is cut. 0: no limit.
	Most int
	// Mute holds all data back until the fault is healed or the connection ends.
	Mute bool
	// Ends is the time after which connections are cut. 0: never.
	Ends time.Duration
	// Reset makes Ends a reset, where the other end of the connection is a TCP connection.
	Reset bool
}

// Inject lets data of one direction suffer a fault until heal is called. It replaces the fault that
// the direction has.
func (w *Wire) Inject(d Direction, f Fault) (heal func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	present := &injected{f, make(chan struct{})}
	w.replace(d, present)
	for l := range w.links {
		l.endBy(present)
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.faults[d] == present {
			w.replace(d, nil)
		}
	}
}

// An injected fault is healed when the channel is closed.
type injected struct {
	Fault
	healed chan struct{}
}

func (w *Wire) replace(d Direction, f *injected) {
	if old := w.faults[d]; old != nil {
		close(old.healed)
	}
	w.faults[d] = f
}

func (w *Wire) fault(d Direction) *injected {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faults[d]
}

// endBy ends the link when the time of a fault has passed, unless the fault is healed by then.
func (l *link) endBy(f *injected) {
	if f == nil || f.Ends <= 0 {
		return
	}
	go func() {
		select {
		case <-time.After(f.Ends):
			l.mu.Lock()
			l.reset = f.Reset
			l.mu.Unlock()
			l.end()
		case <-f.healed:
		case <-l.ended:
		}
	}()
}

// A quota counts the bytes that a link passes under a fault.
type quota struct {
	fault *injected
	used  int
}

// take takes up to n bytes. It reports whether they are the last that the fault allows.
func (q *quota) take(f *injected, n int) (allowed int, last bool) {
	if q.fault != f {
		*q = quota{fault: f}
	}
	n = min(n, f.Most-q.used)
	q.used += n
	return n, q.used >= f.Most
}

// pieces is the number of pieces a second in which a limited rate passes data.
const pieces = 10

// write passes data on as the fault of its direction allows.
func (l *link) write(to net.Conn, data []byte, d Direction) error {
	for len(data) > 0 && l.pause(0) {
		n, wait, last := len(data), time.Duration(0), false
		if f := l.wire.fault(d); f != nil {
			if f.Mute {
				select {
				case <-l.ended:
				case <-f.healed:
				}
				continue
			}
			if f.Rate > 0 {
				n = min(n, max(1, f.Rate/pieces))
				wait = time.Duration(n) * time.Second / time.Duration(f.Rate)
			}
			if f.Most > 0 {
				n, last = l.quotas[d].take(f, n)
			}
			wait += f.wait()
		}
		if !l.pause(wait) {
			return errCut
		}
		if _, err := to.Write(data[:n]); err != nil || last {
			return errCut
		}
		data = data[n:]
	}
	return nil
}

func (f *Fault) wait() time.Duration {
	if f.Jitter <= 0 {
		return f.Delay
	}
	return f.Delay + rand.N(f.Jitter)
}
