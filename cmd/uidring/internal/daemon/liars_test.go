package daemon

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/poll"
)

const (
	leastID  = 1 << 54  // below all IDs of a server, above all IDs in a lie
	mostRead = 32 << 20 // more than a client reads of an answer and the buffers of a connection hold
)

// lies are the answers of servers that do not belong to the service.
var lies = map[string]string{
	"a page":       "<html>",
	"deep":         strings.Repeat("[", 90_000),
	"a fraction":   `{"ranges":[{"first":1.5,"count":500}]}`,
	"a truth":      `{"ranges":[{"first":true,"count":500}]}`,
	"an odd count": `{"ranges":[{"first":"1","count":true},{"first":"2","count":499}]}`,
	"inexact":      `{"ranges":[{"first":9007199254740993,"count":500}]}`,
	"as text":      "1 499\n-7 1\n",
}

// liars are the servers of lies, each with a path of its own.
type liars struct {
	*httptest.Server
	asked   map[string]*atomic.Int64
	stalled atomic.Bool  // an answer is under way that does not end
	read    atomic.Int64 // of an answer without end
}

func newLiars(t *testing.T) *liars {
	l := &liars{asked: make(map[string]*atomic.Int64)}
	mux := http.NewServeMux()
	add := func(path string, answer http.HandlerFunc) {
		n := new(atomic.Int64)
		l.asked[path] = n
		mux.HandleFunc("/"+path+"/", func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			answer(w, r)
		})
	}
	for name, text := range lies {
		add(strings.ReplaceAll(name, " ", "-"), func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	}
	add("talkative", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintf(w, `{"type":"x","detail":"%s"}`, strings.Repeat(`xx\n\u0041`, 6000))
	})
	add("endless", func(w http.ResponseWriter, _ *http.Request) {
		for part := make([]byte, 1<<20); l.read.Load() < mostRead; l.read.Add(int64(len(part))) {
			if _, err := w.Write(part); err != nil {
				l.read.Store(0)
				return
			}
		}
	})
	add("elsewhere", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/stolen/", http.StatusFound) })
	add("stolen", http.NotFound)
	add("stalled", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"ranges":`)
		w.(http.Flusher).Flush()
		l.stalled.Store(true)
		<-r.Context().Done()
		l.stalled.Store(false)
	})
	add("slow", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			fmt.Fprint(w, " ")
			w.(http.Flusher).Flush()
			<-time.After(20 * time.Millisecond)
		}
	})
	l.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		l.CloseClientConnections()
		l.Close()
	})
	return l
}

// outlasts has a client draw IDs while a single one of its servers is real. It takes no ID of a
// lie, follows no redirect with its token, gives an answer without end up, and asks each server
// again. A forked child does so, too, although an answer is under way.
func (l *liars) outlasts(d *driver, open func(servers []string) string) {
	var servers []string
	for path := range l.asked {
		if path != "stolen" {
			servers = append(servers, l.URL+"/"+path)
		}
	}
	d.succeeds(open(servers))
	again := func() bool {
		for path, n := range l.asked {
			if n.Load() < 2 && path != "stolen" {
				return false
			}
		}
		return l.stalled.Load()
	}
	poll.Until(d.t, "further requests of "+d.name, func() bool {
		for _, id := range d.succeeds("take 1000 4") {
			if id < leastID {
				d.t.Errorf("%s: ID %d of a lie", d.name, id)
			}
		}
		return again() || d.t.Failed()
	})
	if n := l.asked["stolen"].Load(); n > 0 || l.read.Load() >= mostRead {
		d.t.Errorf("%s: %d requests followed a redirect, %d bytes of an answer without end were read", d.name, n, l.read.Load())
	}
	if d.name == "python" {
		d.succeeds("fork 400")
	}
}
