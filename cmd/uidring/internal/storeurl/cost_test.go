package storeurl_test

import (
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/schema"
)

// A meter counts the round trips and the bytes between clients and a server. A round trip begins
// when a client sends after the server has.
type meter struct {
	mu sync.Mutex
	cost
}

func (m *meter) read() cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cost
}

// listen passes connections on to a server, and returns its address.
func (m *meter) listen(t *testing.T, server string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Close(t, l, err)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				client.Close()
				continue
			}
			sent := false // the client was the last to send
			pass := func(to, from net.Conn, request bool) {
				defer to.Close()
				for buffer := make([]byte, 1<<16); ; {
					n, err := from.Read(buffer)
					if err != nil {
						return
					}
					m.mu.Lock()
					if m.bytes += n; request && !sent {
						m.trips++
					}
					sent = request
					m.mu.Unlock()
					if _, err := to.Write(buffer[:n]); err != nil {
						return
					}
				}
			}
			go pass(upstream, client, true)
			go pass(client, upstream, false)
		}
	}()
	return l.Addr().String()
}

// A cost is the most that a step takes. Round trips of etcd vary, since HTTP/2 splits a call at
// will.
type cost struct{ trips, bytes int }

// docs/IDENTITY.md has the figures, of the second start. A store may send a few messages more at
// any time, to keep its connection.
func TestRoundTripsOfALease(t *testing.T) {
	const more, moreBytes = 3, 1000
	for name, c := range map[string]struct {
		claim, renew, free cost
	}{
		"MariaDB": {cost{10, 11300}, cost{4, 5700}, cost{4, 1800}}, "MySQL": {cost{10, 10100}, cost{4, 4500}, cost{4, 1100}},
		"etcd": {cost{0, 5000}, cost{0, 2600}, cost{0, 1500}}, "ZooKeeper": {cost{14, 4200}, cost{5, 1400}, cost{3, 1100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, format := logins[name](t)
			var m meter
			s := open(t, as(password, strings.ReplaceAll(format, server.Addr(), m.listen(t, server.Addr()))), "orders")
			_, err := s.Create(t.Context(), schema.Leases)
			testkit.Must(t, err)
			for try := range 2 {
				var l assigner.Lease
				step := func(name string, most cost, f func() error) {
					before := m.read()
					testkit.Must(t, f())
					now := m.read()
					took := cost{now.trips - before.trips, now.bytes - before.bytes}
					t.Logf("%s: %d round trips, %d bytes", name, took.trips, took.bytes)
					if try > 0 && (most.trips > 0 && took.trips > most.trips+more || took.bytes > most.bytes+moreBytes) {
						t.Errorf("%s: %+v, want %+v", name, took, most)
					}
				}
				step("start", c.claim, func() (err error) {
					l, err = assigner.Leased(s, assigner.LeaseConfig{}).Assign(t.Context(), assignertest.Domain())
					return err
				})
				step("renewal", c.renew, func() error {
					_, err := l.Renew(t.Context(), assigner.Use{Used: assignertest.Domain().Now()})
					return err
				})
				step("close", c.free, func() error { return l.End(t.Context(), assigner.Ending{Released: true}) })
			}
		})
	}
}
