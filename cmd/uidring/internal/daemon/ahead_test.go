package daemon

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/uidring/uidring/internal/testkit/testserver"
)

// Greedy clients draw from a server with default settings as much as they can. ID time runs an hour
// ahead at most. Then the server refuses them, and logs that once. It is ready, since a modest
// client still gets its IDs.
func TestGreedyClientsDoNotTakeAllIDTime(t *testing.T) {
	c := serve(t, "--data="+testserver.DiskFolder(t))
	tooFar := refusal{http.StatusServiceUnavailable, "too-far-ahead"}
	greedy := clients(t, nil)["HTTP/1.1"]
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for requests := 0; ; requests++ {
				answer, err := greedy.Get(c.url() + "/v1/ids?n=100000")
				if err != nil {
					t.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				if answer.StatusCode == http.StatusServiceUnavailable {
					return
				}
				if err != nil || answer.StatusCode != http.StatusOK || requests > 1000 {
					t.Errorf("request %d: %s, %v", requests, answer.Status, err)
					return
				}
			}
		})
	}
	group.Wait()
	for range 100 {
		for range 20 {
			if _, err := fetch(t.Context(), greedy, c.url(), 100_000); !errors.Is(err, tooFar) {
				t.Fatalf("above the bound: %v", err)
			}
		}
		if _, err := fetch(t.Context(), greedy, c.url(), 1); err != nil {
			t.Fatalf("a modest client: %v", err)
		}
	}
	if status, body, err := get(greedy, c.adminURL()+"/readyz"); status != http.StatusOK {
		t.Errorf("the server answers requests for one ID, and /readyz %d: %s %v", status, body, err)
	}
	if n := strings.Count(c.log.String(), "requests are refused: clients draw more IDs"); n != 1 {
		t.Errorf("%d records of 2,000 refusals, want 1\n%s", n, c.log)
	}
	if ahead := c.metric("uidring_ahead_seconds"); ahead < 3000 || ahead > 3600 {
		t.Errorf("ID time is %.0f s ahead of the clock, want 3000 to 3600", ahead)
	}
}

// metric returns a metric without labels.
func (c *child) metric(name string) float64 {
	c.t.Helper()
	_, body, err := get(clients(c.t, nil)["HTTP/1.1"], c.adminURL()+"/metrics")
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				c.t.Fatal(err)
			}
			return number
		}
	}
	c.t.Fatalf("no metric %s", name)
	return 0
}
