package daemon

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/internal/test/testserver"
)

var soakFor = flag.Duration("soak", 5*time.Second, "how long TestSoak goes on")

// A server under load loses its database again and again. It says so, in the one documented way,
// and goes on when the database is back; no ID comes twice, and nothing grows.
func TestSoak(t *testing.T) {
	t.Parallel()
	window := min(max(*soakFor/10, time.Second), 5*time.Second)
	database := testserver.MariaDB(t)
	server := serve(t, "--store=mysql://root@"+database.Addr()+"/uidring", "--window="+window.String(), "--max-ahead=0s") // many days of ID time
	// No lease: a window is used up, and the store does not answer.
	noLease := refusal{http.StatusServiceUnavailable, "no-lease"}
	var refused atomic.Int64
	all := new(idset.Set)
	c := &crowd{t: t, issued: all, servers: func() []string { return []string{server.url()} }, failed: func(_ string, _, _ time.Time, err error) {
		if !errors.Is(err, noLease) {
			t.Errorf("a client: %v, want %v only", err, noLease)
		}
		refused.Add(1)
	}}
	c.draw(6)
	ready := func(want int) {
		poll.Until(t, fmt.Sprint("status ", want, " of /readyz"), func() bool {
			status, _, err := get(http.DefaultClient, server.adminURL()+"/readyz")
			return err == nil && status == want
		})
	}
	var first usage
	began := time.Now()
	for outage := 1; outage == 1 || time.Since(began) < *soakFor; outage++ {
		goal := all.Len() + 10_000
		poll.Until(t, "IDs", func() bool { return all.Len() >= goal })
		end := time.Now().Add(window)
		poll.Until(t, "time", func() bool { return time.Now().After(end) })
		if outage <= 2 {
			first = use(server)
		}
		t.Logf("%3.0f s  %11d IDs  %v", time.Since(began).Seconds(), all.Len(), use(server))
		before := refused.Load()
		database.Kill9()
		poll.Until(t, "a shortage", func() bool { return refused.Load() > before })
		ready(http.StatusServiceUnavailable)
		database.Restart()
		ready(http.StatusOK)
	}
	goal := all.Len() + 10_000
	poll.Until(t, "IDs", func() bool { return all.Len() >= goal })
	last := use(server)
	c.end()
	server.terminate()
	t.Logf("%3.0f s  %11d IDs  %v", time.Since(began).Seconds(), all.Len(), last)
	if last.goroutines > first.goroutines+16 || last.files > first.files+16 || last.bytes > first.bytes+first.bytes/4+16<<20 {
		t.Errorf("grown from %v to %v", first, last)
	}
}

// usage is the resource usage of a process, from its metrics.
type usage struct{ goroutines, files, bytes float64 }

func use(c *child) usage {
	return usage{c.metric("go_goroutines"), c.metric("process_open_fds"), c.metric("process_resident_memory_bytes")}
}
