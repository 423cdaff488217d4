package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/uidring/uidring/internal/test/faultconn"
)

// newLinks makes the way of each slot's processes to the server.
func newLinks(n int, server string, r *rand.Rand) ([]*faultconn.Proxy, error) {
	links := make([]*faultconn.Proxy, n)
	for i := range links {
		l, err := newLink(server, r)
		if err != nil {
			return nil, err
		}
		links[i] = l
	}
	return links, nil
}

// newLink takes a port below the range that systems take the ports of outgoing connections from:
// one of those could otherwise occupy it while the link refuses connections.
func newLink(server string, r *rand.Rand) (*faultconn.Proxy, error) {
	const lowest, count, tries = 5000, 10_000, 100
	var err error
	for range tries {
		var p *faultconn.Proxy
		if p, err = faultconn.Listen(net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+r.IntN(count))), server); err == nil {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no free port from %d to %d: %w", lowest, lowest+count-1, err)
}

// newFault draws a fault of connections. Most cuts in the middle of a statement or of an answer;
// Mute lets nothing through until the connection ends.
func newFault(r *rand.Rand) faultconn.Fault {
	number := func(most int) int { return 1 + r.IntN(most) }
	milliseconds := func(most int) time.Duration { return time.Duration(number(most)) * time.Millisecond }
	switch r.IntN(5) {
	case 0:
		return faultconn.Fault{Delay: milliseconds(800), Jitter: milliseconds(300)}
	case 1:
		return faultconn.Fault{Mute: true, Ends: milliseconds(1500)}
	case 2:
		return faultconn.Fault{Reset: true, Ends: milliseconds(300)}
	case 3:
		return faultconn.Fault{Most: number(1500)}
	default:
		return faultconn.Fault{Rate: 1000}
	}
}

// networkFaults gives a link one fault after another until ctx ends, and leaves it sound.
func (r *chaosRun) networkFaults(ctx context.Context, l *faultconn.Proxy, random *rand.Rand) error {
	for pause(ctx, between(random, time.Second, 8*time.Second)) {
		r.figures.count(cutNetwork)
		lasts := between(random, 100*time.Millisecond, 3*time.Second)
		if random.IntN(5) == 0 {
			if err := r.refuse(ctx, l, lasts); err != nil {
				return err
			}
			continue
		}
		heal := l.Inject([]faultconn.Direction{faultconn.Up, faultconn.Down}[random.IntN(2)], newFault(random))
		pause(ctx, lasts)
		heal()
	}
	return nil
}

func (r *chaosRun) refuse(ctx context.Context, l *faultconn.Proxy, lasts time.Duration) error {
	l.Refuse()
	pause(ctx, lasts)
	r.network.RLock() // waits while all links refuse connections
	defer r.network.RUnlock()
	return l.Accept()
}

// shutAll keeps every process from the server until the func that it returns is called.
func (r *chaosRun) shutAll() (reopen func() error) {
	r.network.Lock()
	for _, l := range r.links {
		l.Refuse()
	}
	return func() error {
		defer r.network.Unlock()
		var errs []error
		for _, l := range r.links {
			errs = append(errs, l.Accept())
		}
		return errors.Join(errs...)
	}
}
