package daemon

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/idset"
)

// A refusal is an answer other than 200.
type refusal struct {
	status int
	kind   string // the last part of the problem's type
}

func (r refusal) Error() string { return fmt.Sprintf("status %d, %s", r.status, r.kind) }

// fetch draws n IDs in binary form.
func fetch(ctx context.Context, client *http.Client, url string, n int) ([]int64, error) {
	path := "/v1/id"
	if n > 1 {
		path = fmt.Sprint("/v1/ids?n=", n)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/octet-stream")
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		var problem struct{ Type string }
		_ = json.Unmarshal(body, &problem) // a text without a type shows in the refusal
		return nil, refusal{answer.StatusCode, problem.Type[strings.LastIndexByte(problem.Type, '#')+1:]}
	}
	if len(body) != 8*n {
		return nil, fmt.Errorf("%d bytes for %d IDs", len(body), n)
	}
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(binary.BigEndian.Uint64(body[8*i:]))
	}
	return ids, nil
}

// A crowd draws IDs from servers, any of which will do: each client goes on to the next when one
// fails it.
type crowd struct {
	t       *testing.T
	issued  *idset.Set
	servers func() []string                                     // URLs
	failed  func(url string, began, ended time.Time, err error) // is told of each attempt that failed
	cancel  context.CancelFunc
	group   sync.WaitGroup
}

// draw has n clients draw IDs, singly and in batches, with and without connections that are kept.
func (c *crowd) draw(n int) {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.t.Cleanup(c.end)
	for i := range n {
		client := clients(c.t, nil)[[]string{"HTTP/1.1", "HTTP/2.0"}[i%2]]
		client.Transport.(*http.Transport).DisableKeepAlives = i == 2
		c.group.Go(func() {
			for turn := i; ctx.Err() == nil; turn++ {
				c.request(ctx, client, turn)
			}
		})
	}
}

// request draws IDs once, from the first server that gives them.
func (c *crowd) request(ctx context.Context, client *http.Client, turn int) {
	servers, n := c.servers(), []int{1, 1, 100, 1000}[turn%4]
	var err error
	for i := range servers {
		url, began := servers[(turn/7+i)%len(servers)], time.Now()
		var ids []int64
		if ids, err = fetch(ctx, client, url, n); err == nil {
			c.issued.Once(c.t, ids...)
			return
		}
		if ctx.Err() != nil {
			return
		}
		c.failed(url, began, time.Now(), err)
	}
	if len(servers) > 1 {
		c.t.Errorf("no server has answered: %v", err)
	}
}

// end stops all clients. It does not count the IDs of requests under way.
func (c *crowd) end() {
	c.cancel()
	c.group.Wait()
}
