package daemon

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
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
	server := serve(t, "--store=mysql://root@"+database.Addr()+"/uidring", "--window="+window.String(), "--max-ahead=0s") // many days of ID time
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
		time.Sleep(window)
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
	if last.goroutines > first.goroutines+16 || last.files > first.files+16 || last.bytes > first.bytes+first.bytes/4+16<<20 {
		t.Errorf("grown from %v to %v", first, last)
	}
}

// usage is the resource usage of a process, from its metrics.
type usage struct{ goroutines, files, bytes float64 }

func use(c *child) usage {
	return usage{c.metric("go_goroutines"), c.metric("process_open_fds"), c.metric("process_resident_memory_bytes")}
}

// Three servers are one service, for clients and behind a proxy that retries. Under load they are
// killed, told to end, and frozen, one after the other: no call fails, and no ID comes twice.
func TestServersStandInForEachOther(t *testing.T) {
	store := "--store=mysql://root@" + testserver.MariaDB(t).Addr() + "/uidring"
	var servers []*child
	var urls []string
	for range 3 {
		c := serve(t, store, "--listen="+testserver.FreeAddr(t))
		servers, urls = append(servers, c), append(urls, c.url())
	}
	all := new(idset.Set)
	stopClients := drawFrom(t, all, 6, urls...)
	requests, stopCallers := drawThrough(t, all, 4, retrying(t, urls))
	again := func(end func(*child)) func(i int) {
		return func(i int) {
			end(servers[i])
			more(t, all, 20_000)
			servers[i] = serve(t, store, "--listen="+servers[i].address)
		}
	}
	freeze := func(i int) {
		if err := servers[i].Pause(); errors.Is(err, errors.ErrUnsupported) {
			return
		}
		more(t, all, 20_000)
		must(t, servers[i].Continue())
	}
	faults := []func(i int){again((*child).Kill), again((*child).terminate), freeze}
	began, round := time.Now(), 0
	for ; (round < len(faults) || time.Since(began) < *soakFor) && !t.Failed(); round++ {
		more(t, all, 20_000)
		faults[round%len(faults)](round / len(faults) % len(servers))
	}
	more(t, all, 20_000)
	stopCallers() // before the servers end
	stopClients()
	t.Logf("%d IDs, %d requests through the proxy, %d faults, %v", all.Len(), requests.Load(), round, time.Since(began).Round(time.Second))
}

// retrying starts a proxy for GET that asks the next server when one refuses, breaks off, fails or
// needs more than a second.
func retrying(t *testing.T, servers []string) string {
	impatient := &http.Client{Timeout: time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	var next atomic.Int64
	ask := func(uri string) (body string, ok bool) {
		server := servers[next.Add(1)%int64(len(servers))]
		status, body, err := get(impatient, server+uri)
		return body, err == nil && status == http.StatusOK
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for began := time.Now(); time.Since(began) < testkit.Patience; {
			if body, ok := ask(r.RequestURI); ok {
				_, _ = io.WriteString(w, body)
				return
			}
		}
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// drawThrough has n callers draw ranges of 1,000 IDs from a proxy until stop is called. No ID may
// come twice, and no request may fail.
func drawThrough(t *testing.T, issued *idset.Set, n int, proxy string) (requests *atomic.Int64, stop func()) {
	requests = new(atomic.Int64)
	var ended atomic.Bool
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			for !ended.Load() {
				var answer struct {
					Ranges []struct {
						First int64 `json:"first,string"`
						Count int64 `json:"count"`
					} `json:"ranges"`
				}
				status, body, err := get(http.DefaultClient, proxy+"/v1/ids?n=1000&form=ranges")
				if err := errors.Join(err, json.Unmarshal([]byte(body), &answer)); err != nil || status != http.StatusOK {
					t.Errorf("%d, %v: %s", status, err, body)
					return
				}
				for _, r := range answer.Ranges {
					ids := make([]int64, r.Count)
					for i := range ids {
						ids[i] = r.First + int64(i)
					}
					issued.Once(t, ids...)
				}
				requests.Add(1)
			}
		})
	}
	stop = func() {
		ended.Store(true)
		group.Wait()
	}
	t.Cleanup(stop)
	return requests, stop
}
