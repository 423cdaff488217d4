package faultconn

import (
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
	// Delay is the time that each piece of data waits.
	Delay time.Duration
	// Piece is the largest size of a piece. 0: no limit.
	Piece int
	// Most is the number of bytes after which a connection is cut. 0: no limit.
	Most int
	// Mute holds all data back until the fault is healed or the connection ends.
	Mute bool
}

// An injected fault is healed when the channel is closed.
type injected struct {
	Fault
	healed chan struct{}
}

// Inject lets data of one direction suffer a fault until heal is called. It replaces the fault that
// the direction has.
func (w *Wire) Inject(d Direction, f Fault) (heal func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	present := &injected{f, make(chan struct{})}
	w.replace(d, present)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.faults[d] == present {
			w.replace(d, nil)
		}
	}
}

func (w *Wire) replace(d Direction, f *injected) {
	if old := w.faults[d]; old != nil {
		close(old.healed)
	}
	w.faults[d] = f
}

// A flow is the data of a link in one direction.
type flow struct {
	*link
	direction Direction
	to        net.Conn
	fault     *injected // the last one
	used      int       // number of bytes passed under it
}

// write passes data on as the fault of its direction allows. It reports whether all has passed.
func (f *flow) write(data []byte) bool {
	for len(data) > 0 {
		f.wire.mu.Lock()
		fault := f.wire.faults[f.direction]
		f.wire.mu.Unlock()
		if fault == nil {
			fault = new(injected)
		}
		if fault != f.fault {
			f.fault, f.used = fault, 0
		}
		if fault.Mute {
			select {
			case <-f.ended:
				return false
			case <-fault.healed:
				continue
			}
		}
		n := len(data)
		if fault.Piece > 0 {
			n = min(n, fault.Piece)
		}
		if fault.Most > 0 {
			n = min(n, fault.Most-f.used)
		}
		select {
		case <-time.After(fault.Delay):
		case <-f.ended:
			return false
		}
		f.used += n
		if _, err := f.to.Write(data[:n]); err != nil || fault.Most > 0 && f.used >= fault.Most {
			return false
		}
		data = data[n:]
	}
	return true
}
