package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// A link is the way of a slot's processes to the server.
type link struct {
	proxy *toxiproxy.Proxy
	addr  string // where processes connect

	mu   sync.Mutex
	open bool
}

// newLinks makes a link to the server for each slot.
func newLinks(n int, server string, r *rand.Rand) ([]*link, error) {
	zerolog.SetGlobalLevel(zerolog.Disabled) // toxics ignore the proxy's logger and log to standard error
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	links := make([]*link, n)
	for i := range links {
		l, err := newLink(api, fmt.Sprintf("slot %d", i), server, r)
		if err != nil {
			return nil, err
		}
		links[i] = l
	}
	return links, nil
}

// newLink takes a port below the range that systems take the ports of outgoing connections from:
// one of those could otherwise occupy it while the link is shut.
func newLink(api *toxiproxy.ApiServer, name, server string, r *rand.Rand) (*link, error) {
	const lowest, count, tries = 5000, 10_000, 100
	var err error
	for range tries {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+r.IntN(count)))
		p := toxiproxy.NewProxy(api, name, addr, server)
		if err = p.Start(); err == nil {
			return &link{proxy: p, addr: addr, open: true}, nil
		}
	}
	return nil, fmt.Errorf("no free port from %d to %d: %w", lowest, lowest+count-1, err)
}

// shut cuts the connections and refuses new ones.
func (l *link) shut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open {
		l.proxy.Stop()
		l.open = false
	}
}

// reopen takes connections again.
func (l *link) reopen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open {
		return nil
	}
	if err := l.proxy.Start(); err != nil {
		return fmt.Errorf("link of %s: %w", l.proxy.Name, err)
	}
	l.open = true
	return nil
}

// A toxic is a fault of a connection, in the form that toxiproxy reads.
type toxic struct {
	Type       string         `json:"type"`
	Name       string         `json:"name"`
	Stream     string         `json:"stream"`
	Attributes map[string]any `json:"attributes"`
}

// newToxic draws one. limit_data cuts in the middle of a statement or of an answer; timeout lets
// nothing through, and then cuts.
func newToxic(r *rand.Rand) toxic {
	number := func(most int) int { return 1 + r.IntN(most) }
	t := toxic{Name: "fault", Stream: []string{"upstream", "downstream"}[r.IntN(2)]}
	switch r.IntN(5) {
	case 0:
		t.Type, t.Attributes = "latency", map[string]any{"latency": number(800), "jitter": number(300)}
	case 1:
		t.Type, t.Attributes = "timeout", map[string]any{"timeout": number(1500)}
	case 2:
		t.Type, t.Attributes = "reset_peer", map[string]any{"timeout": number(300)}
	case 3:
		t.Type, t.Attributes = "limit_data", map[string]any{"bytes": number(1500)}
	case 4:
		t.Type, t.Attributes = "bandwidth", map[string]any{"rate": 1} // kB/s
	}
	return t
}

// networkFaults gives a link one fault after another until ctx ends, and leaves it sound.
func (r *chaosRun) networkFaults(ctx context.Context, l *link, random *rand.Rand) error {
	for pause(ctx, between(random, time.Second, 8*time.Second)) {
		r.figures.networkFaults.Add(1)
		lasts := between(random, 100*time.Millisecond, 3*time.Second)
		var err error
		if random.IntN(5) == 0 {
			err = r.refuse(ctx, l, lasts)
		} else {
			err = r.poison(ctx, l, newToxic(random), lasts)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *chaosRun) refuse(ctx context.Context, l *link, lasts time.Duration) error {
	r.network.RLock()
	l.shut()
	r.network.RUnlock()
	pause(ctx, lasts)
	r.network.RLock() // waits while all links are shut
	defer r.network.RUnlock()
	return l.reopen()
}

func (r *chaosRun) poison(ctx context.Context, l *link, t toxic, lasts time.Duration) error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	r.network.RLock()
	_, err = l.proxy.Toxics.AddToxicJson(strings.NewReader(string(text)))
	r.network.RUnlock()
	if err != nil {
		return fmt.Errorf("toxic %s: %w", text, err)
	}
	pause(ctx, lasts)
	r.network.RLock()
	defer r.network.RUnlock()
	return l.proxy.Toxics.RemoveToxic(context.Background(), t.Name)
}

// shutAll keeps every process from the server until the func that it returns is called.
func (r *chaosRun) shutAll() (reopen func() error) {
	r.network.Lock()
	for _, l := range r.links {
		l.shut()
	}
	return func() error {
		defer r.network.Unlock()
		var errs []error
		for _, l := range r.links {
			errs = append(errs, l.reopen())
		}
		return errors.Join(errs...)
	}
}
