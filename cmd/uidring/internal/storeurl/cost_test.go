package storeurl_test

import (
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/internal/test/faultconn"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/schema"
)

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
		"MariaDB": {cost{10, 11100}, cost{4, 5300}, cost{4, 2000}}, "MySQL": {cost{10, 9800}, cost{4, 3900}, cost{4, 1100}},
		"etcd": {cost{0, 5000}, cost{0, 2600}, cost{0, 1500}}, "ZooKeeper": {cost{14, 4200}, cost{5, 1400}, cost{3, 1100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			login := logins[name]
			if name == "etcd" { // etcd 3.4 takes no password
				login = func(t *testing.T) (*testserver.Server, string) {
					s := testserver.Etcd(t)
					return s, "etcd://" + s.Addr()
				}
			}
			server, format := login(t)
			proxy := faultconn.Start(t, server.Addr())
			s := open(t, as(password, strings.ReplaceAll(format, server.Addr(), proxy.Addr())), "orders")
			_, err := s.Create(t.Context(), schema.Leases)
			testkit.Must(t, err)
			for try := range 2 {
				var l assigner.Lease
				step := func(name string, most cost, f func() error) {
					trips, bytes := proxy.Traffic()
					testkit.Must(t, f())
					tripsNow, bytesNow := proxy.Traffic()
					took := cost{tripsNow - trips, bytesNow - bytes}
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
