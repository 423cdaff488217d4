package daemon

import (
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

var soakFor = flag.Duration("soak", 5*time.Second, "how long TestSoak goes on")

// A server under load loses its database again and again. It says so, in the one documented way,
// and goes on when the database is back; no ID comes twice, and nothing grows.
func TestSoak(t *testing.T) {
	t.Parallel()
	window := min(max(*soakFor/10, time.Second), 5*time.Second)
	database := testserver.MariaDB(t)
	server := serve(t, "--store=mysql://root@"+database.Addr()+"/uidring", "--window="+window.String(), "--max-ahead=50000h") // many days of ID time
	all := new(idset.Set)
	drawFrom(t, all, 6, server.url())
	var ended atomic.Bool
	var refused atomic.Int64
	probed := make(chan struct{})
	go func() { // the clients try again; each answer is 200 or no-lease
		defer close(probed)
		for !ended.Load() {
			status, body, err := get(http.DefaultClient, server.url()+"/v1/id")
			if err != nil || status != http.StatusOK && !strings.Contains(body, "#no-lease") {
				t.Errorf("%d, %v: %s; want an ID, or no-lease", status, err, body)
				return
			}
			if status != http.StatusOK {
				refused.Add(1)
			}
		}
	}()
	ready := func(want int) {
		testkit.Until(t, fmt.Sprint("status ", want, " of /readyz"), func() bool {
			status, _, err := get(http.DefaultClient, server.adminURL()+"/readyz")
			return err == nil && status == want
		})
	}
	var first usage
	began := time.Now()
	for outage := 1; outage == 1 || time.Since(began) < *soakFor; outage++ {
		more(t, all, 10_000)
		testkit.Pause(t.Context(), window)
		if outage <= 2 {
			first = use(server)
		}
		t.Logf("%3.0f s  %11d IDs  %v", time.Since(began).Seconds(), all.Len(), use(server))
		before := refused.Load()
		database.Kill9()
		testkit.Until(t, "a shortage", func() bool { return refused.Load() > before || t.Failed() })
		ready(http.StatusServiceUnavailable)
		database.Restart()
		ready(http.StatusOK)
	}
	more(t, all, 10_000)
	ended.Store(true)
	<-probed
	last := use(server)
	t.Logf("%3.0f s  %11d IDs  %v", time.Since(began).Seconds(), all.Len(), last)
	const garbage = 48 << 20 // of a cycle
	if last.goroutines > first.goroutines+16 || last.files > first.files+16 || last.bytes > first.bytes+first.bytes/4+garbage {
		t.Errorf("grown from %v to %v", first, last)
	}
}

// usage is the resource usage of a process, from its metrics.
type usage struct{ goroutines, files, bytes float64 }

func use(c *child) usage {
	return usage{c.metric("go_goroutines"), c.metric("process_open_fds"), c.metric("process_resident_memory_bytes")}
}

// Three servers are one service. Under load they are killed, told to end, and frozen, one after the
// other: no call fails, and no ID comes twice.
func TestServersStandInForEachOther(t *testing.T) {
	store := "--store=mysql://root@" + testserver.MariaDB(t).Addr() + "/uidring"
	var servers []*child
	var urls []string
	for range 3 {
		c := serve(t, store, "--listen="+testserver.FreeAddr(t))
		servers, urls = append(servers, c), append(urls, c.url())
	}
	all := new(idset.Set)
	stop := drawFrom(t, all, 6, urls...)
	again := func(end func(*child)) func(i int) {
		return func(i int) {
			end(servers[i])
			more(t, all, 20_000)
			servers[i] = serve(t, store, "--listen="+servers[i].address)
		}
	}
	freeze := func(i int) {
		testkit.Must(t, servers[i].Pause())
		more(t, all, 20_000)
		testkit.Must(t, servers[i].Continue())
	}
	faults := []func(i int){again((*child).Kill), again((*child).terminate), freeze}
	began, round := time.Now(), 0
	for ; (round < len(faults) || time.Since(began) < *soakFor) && !t.Failed(); round++ {
		more(t, all, 20_000)
		faults[round%len(faults)](round / len(faults) % len(servers))
	}
	more(t, all, 20_000)
	stop()
	t.Logf("%d IDs, %d faults, %v", all.Len(), round, time.Since(began).Round(time.Second))
}
