package incidents_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/testkit/idset"
)

// The hosts of the incident: their addresses agree in the low ten bits, which are 311.
const (
	hostA = "192.168.209.55"
	hostB = "192.168.161.55"
)

// A hundred duplicate keys in two days came from this one.
func TestTwoHostsEndingIn55IssueTheSameIDsWithADerivedNumber(t *testing.T) {
	t.Parallel()
	layout := bitsalloc.Default()
	hosts := processes(t, service{Layout: layout, Address: hostA}, service{Layout: layout, Address: hostB})
	var issued [2]idset.Set
	for i, worker := range startAll(hosts) {
		if worker != 311 {
			t.Errorf("host %d has worker %d, want 311", i, worker)
		}
	}
	for i, p := range hosts {
		issued[i].Once(t, p.draw(100_000)...) // some twelve seconds of ID time, so that both meet even if one starts late
	}
	common := issued[0].Common(&issued[1])
	if common == 0 {
		t.Error("the hosts have no ID in common: the incident is not replayed")
	}
	t.Logf("%d of 100,000 IDs were issued by both hosts", common)
}

func TestTwoHostsEndingIn55AreToldApartByAFence(t *testing.T) {
	t.Parallel()
	dsn := mariaDB(t).DSN()
	a := service{Layout: bitsalloc.Default(), DSN: dsn, Address: hostA}
	b := service{Layout: bitsalloc.Default(), DSN: dsn, Address: hostB}
	db := handle(t, b)
	refused := func() {
		t.Helper()
		_, err := b.generator(t.Context(), db)
		if !errors.Is(err, assigner.ErrWorkerInUse) || !strings.Contains(err.Error(), `row 311 is held by "`+hostA+`"`) {
			t.Errorf("host B: %v; want ErrWorkerInUse naming row 311 and %s", err, hostA)
		}
	}
	var issued idset.Set
	hosts := processes(t, a, a, b)
	first, again, second := hosts[0], hosts[1], hosts[2]
	serve := func(p *child) {
		t.Helper()
		if worker := startAll([]*child{p})[0]; worker != 311 {
			t.Errorf("worker %d, want 311", worker)
		}
		issued.Once(t, p.draw(10_000)...)
	}

	serve(first)
	refused()
	issued.Once(t, first.draw(10_000)...) // it has lost nothing
	issued.Once(t, first.kill()...)
	refused() // the killed process has not released the worker ID
	serve(again)
	refused()
	again.close()
	serve(second)
	if n := issued.Len(); n != 40_000 {
		t.Errorf("%d IDs, want 40,000", n)
	}
}
