package daemon

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/testkit/idset"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

var soakFor = flag.Duration("soak", 5*time.Second, "how long TestSoak goes on")

// A soak counts the errors of clients.
type soak struct {
	mu       sync.Mutex
	refusals map[refusal]int
	others   []error
}

func (s *soak) note(_ string, _, _ time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := errors.AsType[refusal](err); ok {
		s.refusals[r]++
		return
	}
	s.others = append(s.others, err)
}

func (s *soak) seen(r refusal) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusals[r]
}

// A server under load loses its database again and again. It says so, in the one documented way,
// and goes on when the database is back; no ID comes twice, and nothing grows.
func TestSoak(t *testing.T) {
	t.Parallel()
	window := min(max(*soakFor/10, time.Second), 5*time.Second)
	database := testserver.MariaDB(t)
	server := serve(t, "--store=mysql://root@"+database.Addr()+"/uidring", "--window="+window.String(), "--max-ahead=0s") // many days of ID time
	s, all := &soak{refusals: make(map[refusal]int)}, new(idset.Set)
	c := &crowd{t: t, issued: all, servers: func() []string { return []string{server.url()} }, failed: s.note}
	c.draw(6)
	probe := clients(t, nil)["HTTP/1.1"]
	stopWatching := lookOn(t, server)
	// No lease: a window is used up, and the store does not answer.
	noLease := refusal{http.StatusServiceUnavailable, "no-lease"}
	var first usage
	began := time.Now()
	for outage := 1; outage == 1 || time.Since(began) < *soakFor; outage++ {
		goal := all.Len() + 10_000
		poll.Until(t, "IDs", func() bool { return all.Len() >= goal })
		pause(t, window)
		if outage <= 2 {
			first = use(t, probe, server)
		}
		t.Logf("%3.0f s  %11d IDs  %v", time.Since(began).Seconds(), all.Len(), use(t, probe, server))
		refused := s.seen(noLease)
		database.Kill9()
		poll.Until(t, "a shortage", func() bool { return s.seen(noLease) > refused })
		wantReady(t, probe, server, http.StatusServiceUnavailable)
		database.Restart()
		wantReady(t, probe, server, http.StatusOK)
	}
	goal := all.Len() + 10_000
	poll.Until(t, "IDs", func() bool { return all.Len() >= goal })
	last := use(t, probe, server)
	c.end()
	stopWatching()
	server.terminate()
	t.Logf("%3.0f s  %11d IDs  %v", time.Since(began).Seconds(), all.Len(), last)
	t.Logf("refused: %v", s.refusals)
	delete(s.refusals, noLease)
	if len(s.refusals) > 0 || len(s.others) > 0 {
		t.Errorf("refusals %v, errors %v, want no-lease only", s.refusals, s.others)
	}
	if last.goroutines > first.goroutines+16 || last.files > first.files+16 || last.bytes > first.bytes+first.bytes/4+16<<20 {
		t.Errorf("grown from %v to %v", first, last)
	}
}

// lookOn reads the event stream, as the page does.
func lookOn(t *testing.T, c *child) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.adminURL()+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	client := clients(t, nil)["HTTP/1.1"]
	client.Timeout = 0
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan int)
	go func() {
		n := 0
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if lines.Text() == "event: stats" {
				n++
			}
		}
		events <- n
	}()
	began := time.Now()
	return func() {
		cancel()
		n := <-events
		_ = answer.Body.Close()
		if least := int(time.Since(began).Seconds()) / 2; n < least {
			t.Errorf("%d events in %v, want one a second", n, time.Since(began))
		}
	}
}

// pause lets a load go on for some time.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	end := time.Now().Add(d)
	poll.Until(t, "time", func() bool { return time.Now().After(end) })
}

func wantReady(t *testing.T, client *http.Client, c *child, want int) {
	t.Helper()
	poll.Until(t, fmt.Sprint("status ", want, " of /readyz"), func() bool {
		status, _, err := get(client, c.adminURL()+"/readyz")
		return err == nil && status == want
	})
}

// usage is the resource usage of a process, from its metrics.
type usage struct{ goroutines, files, bytes int64 }

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d open files, %d MiB", u.goroutines, u.files, u.bytes>>20)
}

func use(t *testing.T, client *http.Client, c *child) (u usage) {
	t.Helper()
	status, body, err := get(client, c.adminURL()+"/metrics")
	if status != http.StatusOK || err != nil {
		t.Fatalf("metrics: status %d, %v", status, err)
	}
	for name, value := range map[string]*int64{
		"go_goroutines": &u.goroutines, "process_open_fds": &u.files, "process_resident_memory_bytes": &u.bytes,
	} {
		_, rest, found := strings.Cut(body, "\n"+name+" ")
		text, _, _ := strings.Cut(rest, "\n")
		number, err := strconv.ParseFloat(text, 64)
		if !found || err != nil {
			t.Fatalf("metrics: %s is %q: %v", name, text, err)
		}
		*value = int64(number)
	}
	return u
}
