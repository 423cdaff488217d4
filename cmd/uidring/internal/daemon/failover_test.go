package daemon

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/poll"
	"github.com/uidring/uidring/internal/test/testserver"
)

// Three servers are one service. One is killed under load, another is told to end, both come back:
// each request is answered by the next server that is asked, the only attempts that fail are those
// at a server that ends or is gone, and no ID comes twice.
func TestServersStandInForEachOther(t *testing.T) {
	settings := []string{"--store=mysql://root@" + testserver.MariaDB(t).Addr() + "/uidring"}
	f := &fleet{t: t, ends: make(map[string]time.Time)}
	for range 3 {
		f.children = append(f.children, serve(t, settings...))
	}
	all := new(idset.Set)
	c := &crowd{t: t, issued: all, servers: f.urls, failed: f.judge}
	c.draw(6)
	more := func() { // IDs for all clients
		goal := all.Len() + 20_000
		poll.Until(t, "IDs", func() bool { return all.Len() >= goal })
	}
	more()
	f.end(0, (*child).Kill)
	more()
	f.replace(0, serve(t, settings...))
	more()
	f.end(1, (*child).terminate)
	more()
	f.replace(1, serve(t, settings...))
	more()
	c.end()
	t.Logf("%d IDs, %d attempts failed at a server that was killed, %d at one that was told to end", all.Len(), f.failed[0], f.failed[1])
}

// A fleet is some servers, of which some end.
type fleet struct {
	t *testing.T

	mu       sync.Mutex
	children []*child
	ends     map[string]time.Time // when the end of a server began
	failed   [2]int               // attempts, at the killed server and at the server that ended in order
}

func (f *fleet) urls() (urls []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.children {
		urls = append(urls, c.url())
	}
	return urls
}

func (f *fleet) end(i int, end func(*child)) {
	f.mu.Lock()
	c := f.children[i]
	f.ends[c.url()] = time.Now()
	f.mu.Unlock()
	end(c)
}

func (f *fleet) replace(i int, c *child) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.children[i] = c
}

// judge allows an attempt to fail if its server was killed during the attempt, or was down when the
// attempt began. A server that ends in order answers all requests that it has read. Other attempts
// fail because its port is closed, or because they were still in the kernel's queue.
func (f *fleet) judge(url string, began, ended time.Time, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	end, ends := f.ends[url]
	if !ends || ended.Before(end) {
		f.t.Errorf("%s has failed from %v to %v: %v", url, began, ended, err)
		return
	}
	if f.children[0].url() == url {
		f.failed[0]++
		return
	}
	f.failed[1]++
	if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" && !errors.Is(err, syscall.ECONNRESET) {
		f.t.Errorf("%s was told to end, and has not answered: %v", url, err)
	}
}
