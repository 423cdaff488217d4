package assigner

import (
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Crashes one after the other, of a worker ID that is taken over each time, or in turns with
// releases: the horizon is at most two windows and twice the bound on clocks behind.
func TestHorizonFollowsACrashLoop(t *testing.T) {
	for _, releases := range []bool{false, true} {
		s := newMemStore()
		s.pin(0)
		now := int64(memStart)
		d := memDomain()
		d.Now = func() int64 { return now }
		for i := range 500 {
			a := clocked(Fenced(s, Static(2), ownedBy("me")))
			l := take(t, a, d)
			last := max(l.Grant().First, now)
			_, err := l.Renew(t.Context(), Use{Used: last, Oldest: last})
			testkit.Must(t, err)
			if releases && i%2 == 0 {
				testkit.Must(t, l.End(t.Context(), Ending{Released: true, Used: last}))
			}
			id, err := leasestore.Horizon(t.Context(), s)
			testkit.Must(t, err)
			alloc, _ := bitsalloc.New(s.meta.Layout, s.meta.Epoch)
			if f, _ := alloc.Parse(id); now-f.Delta > 2*30+2*60 {
				t.Fatalf("the horizon is %d units behind", now-f.Delta)
			}
			now += 3
			s.status.Now = memTime(now)
		}
	}
}

func TestOperationsRefuseANilStore(t *testing.T) {
	_, errHorizon := leasestore.Horizon(t.Context(), nil)
	_, errRevoke := leasestore.Revoke(t.Context(), nil, leasestore.Revocation{})
	for name, err := range map[string]error{
		"Horizon": errHorizon, "Revoke": errRevoke, "Recover": leasestore.Recover(t.Context(), nil, leasestore.Recovery{}),
	} {
		if err == nil || !strings.Contains(err.Error(), "leasestore: "+name+": store nil") {
			t.Errorf("%s: %v, want that the store is nil", name, err)
		}
	}
}
