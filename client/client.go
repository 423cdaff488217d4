package client

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/httpcall"
)

// A Client issues IDs that it fetches from servers. Any number of goroutines may use it.
type Client struct {
	cfg    Config // resolved
	http   *http.Client
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	group  sync.WaitGroup
	wake   chan struct{} // wakes prefetch

	changed generator.Notifier // of calls that wait, after each answer

	mu      sync.Mutex
	blocks  []block
	left    int // IDs in blocks
	servers []*server
}

// A block is a range of consecutive IDs. The first of them is the next to be issued.
type block struct {
	first, last int64
	asked       time.Time     // before the request for it was sent
	maxAge      time.Duration // since then
}

// New checks cfg, reports all mistakes at once as [ErrInvalidConfig], and begins to fetch IDs. It
// does not wait for them.
func New(cfg Config) (*Client, error) {
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	c := &Client{cfg: cfg, wake: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	transport := cfg.Transport
	if transport == nil {
		transport = httpcall.NewTransport(nil)
	}
	c.http = &http.Client{
		Transport: transport,
		Timeout:   cfg.RequestTimeout,
		// Another host must not get the token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	path := "/v1/ids"
	if cfg.Segment != "" {
		path = "/v1/segments/" + cfg.Segment
	}
	for _, i := range rand.Perm(len(cfg.Servers)) { // so that not all clients begin with the same server
		name := base(cfg.Servers[i])
		c.servers = append(c.servers, &server{name: name, url: name + path + "?form=ranges&n=" + strconv.Itoa(cfg.Batch)})
	}
	c.group.Go(c.prefetch)
	return c, nil
}

// Next returns an ID from memory. It never waits.
//
// Errors: ErrEmpty if no ID is in memory, as at the start and after MaxAge without calls, when
// NextContext waits; a *ProblemError if all servers reject the request; ErrClosed.
func (c *Client) Next() (int64, error) {
	id, _, err := c.take(1)
	return id, err
}

// NextContext is [Client.Next], but waits for an ID until ctx ends.
//
// Errors: an *UnavailableError if no server gave IDs until ctx ended; a *ProblemError if all
// servers reject the request; ErrClosed.
func (c *Client) NextContext(ctx context.Context) (int64, error) {
	id, _, err := c.await(ctx, 1)
	return id, err
}

// Fill fills dst with IDs from memory and returns their number. If it gets fewer than len(dst) it
// also returns one of the errors of Next; the IDs in dst are valid.
func (c *Client) Fill(dst []int64) (int, error) { return generator.Fill(dst, c.take) }

// FillContext is [Client.Fill], but waits as [Client.NextContext] does.
func (c *Client) FillContext(ctx context.Context, dst []int64) (int, error) {
	return generator.Fill(dst, func(n int) (int64, int, error) { return c.await(ctx, n) })
}

// take takes up to n consecutive IDs from memory, at least one.
func (c *Client) take(n int) (first int64, got int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return 0, 0, ErrClosed
	}
	c.dropOld()
	if c.left == 0 {
		if p := c.rejection(); p != nil {
			return 0, 0, p
		}
		return 0, 0, ErrEmpty
	}
	b := &c.blocks[0]
	first, got = b.first, int(min(int64(n), b.last-b.first+1))
	b.first += int64(got)
	if first+int64(got-1) == b.last {
		c.blocks = c.blocks[1:]
	}
	c.lose(got)
	return first, got, nil
}

// await is take, but waits while no ID is in memory.
func (c *Client) await(ctx context.Context, n int) (first int64, got int, err error) {
	first, got, err = c.take(n)
	for err == ErrEmpty {
		changed := c.changed.Wait()
		if first, got, err = c.take(n); err != ErrEmpty {
			break
		}
		select {
		case <-changed:
		case <-c.ctx.Done():
		case <-ctx.Done():
			return 0, 0, c.unavailable(ctx)
		}
	}
	return first, got, err
}

// Close drops the IDs in memory, ends the requests under way, and waits for their end. Calls that
// wait, and later ones, return ErrClosed. Close may be called again. It returns nil.
func (c *Client) Close() error {
	c.cancel()
	c.group.Wait()
	if c.cfg.Transport == nil {
		c.http.CloseIdleConnections()
	}
	return nil
}

// dropOld drops the blocks that have become too old.
func (c *Client) dropOld() {
	for len(c.blocks) > 0 && time.Since(c.blocks[0].asked) > c.blocks[0].maxAge {
		c.lose(int(c.blocks[0].last-c.blocks[0].first) + 1)
		c.blocks = c.blocks[1:]
	}
}

// lose counts n IDs fewer in memory. It wakes prefetch when they become few.
func (c *Client) lose(n int) {
	if before := c.left; before > c.cfg.Batch && before-n <= c.cfg.Batch {
		generator.Signal(c.wake)
	}
	c.left -= n
}

// rejection returns the rejection of the first server if all servers reject the request, else nil.
func (c *Client) rejection() *ProblemError {
	for _, s := range c.servers {
		if p, ok := s.err.(*ProblemError); !ok || !p.rejects() {
			return nil
		}
	}
	return c.servers[0].err.(*ProblemError)
}

func (c *Client) unavailable(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &UnavailableError{Cause: context.Cause(ctx), ended: ctx.Err(), after: longestPause}
	for _, s := range c.servers {
		var after time.Duration
		if s.err != nil {
			e.Servers = append(e.Servers, s.err)
			after = time.Until(c.retryAt(s))
		}
		e.after = min(e.after, after)
	}
	return e
}
