package daemon

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/internal/test/testserver"
)

const (
	batchOfClients = 500
	goodToken      = "good-good-good-good"
)

// TestClientsOutlastTheirServers has the clients of all languages draw IDs from three servers at
// once. One server is killed and another one frozen under load: no call fails, no ID comes twice,
// and the two get next to no requests until the frozen one goes on.
func TestClientsOutlastTheirServers(t *testing.T) {
	r := newRound(t)
	r.each(func(d *driver) {
		d.fails("open , "+goodToken+" 0 1000 1000 1000", "invalid")
		d.succeeds(r.open(d, "wrong-wrong-wrong", time.Minute, patience))
		d.fails("take 1 1", "rejected 401 https://github.com/uidring/uidring/blob/main/docs/SERVICE.md#unauthorized")
		d.dropsOldIDs(r.open(d, goodToken, 100*time.Millisecond, patience))
		newLiars(t).outlasts(d, func(liars []string) string {
			return openServers(append(liars, r.servers[well].url()), goodToken, 2*time.Second, time.Minute, patience)
		})
		d.succeeds(r.open(d, goodToken, time.Minute, patience))
		d.succeeds("take 1 1")
		if d.name == "python" {
			d.succeeds("fork 400") // with more IDs in memory
		}
	})

	stop := r.load()
	r.wait("requests", func(d *driver) bool { return min(d.count().requests[killed], d.count().requests[frozen]) >= 3 })
	r.servers[killed].Kill()
	r.pause(frozen)
	r.each(func(d *driver) { d.before = d.count() })
	r.wait("IDs of 200 batches", func(d *driver) bool { return d.count().ids >= d.before.ids+200*batchOfClients })
	r.each(func(d *driver) {
		now := d.count()
		for i, state := range []string{killed: "killed", frozen: "frozen"} {
			n := now.requests[i] - d.before.requests[i]
			t.Logf("%s: %d requests to the %s server, %d IDs meanwhile", d.name, n, state, now.ids-d.before.ids)
			if n > 20 {
				t.Errorf("%s: %d requests to the %s server during 200 batches, allowed: 20", d.name, n, state)
			}
		}
		d.before = now
	})
	must(t, r.servers[frozen].Continue())
	r.wait("a share of the server that goes on", func(d *driver) bool { return d.count().requests[frozen] >= d.before.requests[frozen]+20 })
	stop()

	r.pause(frozen)
	r.pause(well)
	r.each(func(d *driver) {
		d.succeeds(r.open(d, goodToken, time.Minute, time.Second))
		d.fails("take 1000000 1", "unavailable") // a signal may need a moment to stop a server
		d.fails("close", "closed")
		d.ends()
	})
	t.Logf("%d IDs", r.issued.Len())
}

// The servers of a round, by their fate.
const killed, frozen, well = 0, 1, 2

// A round is some servers, and a client of each language.
type round struct {
	t       *testing.T
	servers []*child
	gone    string // the URL of a server that does not run
	drivers []*driver
	issued  idset.Set
}

// newRound starts servers with stores of their own, so that a frozen one holds no lock, and the
// drivers.
func newRound(t *testing.T) *round {
	r := &round{t: t}
	tokens := filepath.Join(t.TempDir(), "tokens")
	must(t, os.WriteFile(tokens, []byte("clients "+goodToken), 0o600))
	for i := range 3 {
		r.servers = append(r.servers, serve(t, "--store=sqlite:"+filepath.Join(testserver.DiskFolder(t), "ids.db"),
			fmt.Sprint("--datacenter=", i), "--layout=31/2/10/20@1s", "--tokens="+tokens))
	}
	r.drivers = startDrivers(t, r.servers[well].url())
	for _, d := range r.drivers {
		d.t, d.issued = t, &r.issued
		for i := range d.relays {
			d.relays[i] = newRelay(t, r.servers[i].url())
		}
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	r.gone = gone.URL
	return r
}

// open returns the command that makes a client.
func (r *round) open(d *driver, token string, maxAge, wait time.Duration) string {
	urls := []string{d.relays[killed].url, d.relays[frozen].url, r.servers[well].url()}
	if token == goodToken {
		urls = append(urls, r.gone) // which rejects no token
	}
	return openServers(urls, token, 5*time.Second, maxAge, wait)
}

func openServers(urls []string, token string, timeout, maxAge, wait time.Duration) string {
	return fmt.Sprintf("open %s %s %d %d %d %d", strings.Join(urls, ","), token, batchOfClients, timeout.Milliseconds(), wait.Milliseconds(), maxAge.Milliseconds())
}

// each calls f for all drivers at once.
func (r *round) each(f func(*driver)) {
	var group sync.WaitGroup
	for _, d := range r.drivers {
		group.Go(func() { f(d) })
	}
	group.Wait()
	if r.t.Failed() {
		r.t.FailNow()
	}
}

// load has all drivers draw IDs until stop is called.
func (r *round) load() (stop func()) {
	var ended atomic.Bool
	var group sync.WaitGroup
	for _, d := range r.drivers {
		group.Go(func() {
			for !ended.Load() && !r.t.Failed() {
				d.succeeds("take 10000 4")
			}
		})
	}
	return func() {
		ended.Store(true)
		group.Wait()
	}
}

// wait waits until something is true for all drivers.
func (r *round) wait(event string, happened func(*driver) bool) {
	r.t.Helper()
	for _, d := range r.drivers {
		poll.Until(r.t, event+" of "+d.name, func() bool { return happened(d) || r.t.Failed() })
	}
	if r.t.Failed() {
		r.t.FailNow()
	}
}

func (r *round) pause(i int) {
	if err := r.servers[i].Pause(); errors.Is(err, errors.ErrUnsupported) {
		r.t.Skip("this system cannot stop a process")
	} else if err != nil {
		r.t.Fatal(err)
	}
}

// TestTypesOfTheJavaScriptClient compiles a program that uses index.d.ts.
func TestTypesOfTheJavaScriptClient(t *testing.T) {
	compiler := testserver.Program(t, clientsDir+"javascript/node_modules/.bin/tsc", "nodejs, then make servers")
	out, err := exec.Command(compiler, "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext",
		"--lib", "es2022,dom,dom.iterable", clientsDir+"javascript/test/types.ts").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// A relay passes requests on to a server, and counts them.
type relay struct {
	url      string
	requests atomic.Int64
}

func newRelay(t *testing.T, server string) *relay {
	target, err := url.Parse(server)
	must(t, err)
	r := new(relay)
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }, ErrorLog: log.New(io.Discard, "", 0)}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.requests.Add(1)
		proxy.ServeHTTP(w, request)
	}))
	t.Cleanup(listener.Close)
	r.url = listener.URL
	return r
}
