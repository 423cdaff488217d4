package incidents_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// A database that is killed for a minute costs nothing where the window bridges two. With the
// default window it costs errors that say why, and no more.
func TestDatabaseKilledForAMinute(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two minutes")
	}
	server := mariaDB(t)
	db := handle(t, service{DSN: server.DSN()})
	patient, standard := newLoad(t, db, 2*time.Minute), newLoad(t, db, 0)
	workers := [...]int64{patient.g.WorkerID(), standard.g.WorkerID()}

	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for _, l := range [...]*load{patient, standard} {
		running.Go(func() { l.run(ctx) })
	}
	// The rest of the default window has to be a whole window and a second for the kill, and has to
	// end twenty seconds before the minute.
	poll.Until(t, "the windows come up to the rate", func() bool {
		left := standard.lasts()
		return patient.ready() && left > standard.window+time.Second && left < 40*time.Second
	})
	waiter := away(t, server, patient, standard)
	comeBack(t, server, patient, standard)
	answer := <-waiter
	stop()
	running.Wait()

	if answer.err != nil {
		t.Errorf("NextContext over the end of the outage: %v", answer.err)
	}
	standard.ids.Once(t, answer.id)
	if n := patient.failed.Load(); n > 0 {
		t.Errorf("%d failed calls of Next with a window of two minutes, want none", n)
	}
	for i, l := range [...]*load{patient, standard} {
		if l.again > 0 || l.wrong != nil {
			t.Errorf("load %d: %d IDs had come before, error %v; want none, and no error but ErrLeaseExhausted", i, l.again, l.wrong)
		}
	}
	if got := [...]int64{patient.g.WorkerID(), standard.g.WorkerID()}; got != workers {
		t.Errorf("workers %v after the outage, want %v as before: nobody else was there to take them", got, workers)
	}
	if n := patient.ids.Common(&standard.ids); n > 0 {
		t.Errorf("%d IDs were issued by both generators", n)
	}
	t.Logf("%d and %d different IDs, %d errors", patient.ids.Len(), standard.ids.Len(), standard.failed.Load())
}

// away kills the server and returns after a minute. The channel delivers the result of a
// NextContext that has waited since the first error.
func away(t *testing.T, server *testserver.Server, patient, standard *load) <-chan answer {
	t.Helper()
	if n, m := patient.failed.Load(), standard.failed.Load(); n+m > 0 {
		t.Fatalf("%d and %d failed calls of Next before the outage", n, m)
	}
	t.Logf("killed with windows for %v and %v", patient.lasts().Round(time.Second), standard.lasts().Round(time.Second))
	issued, before := patient.issued.Load(), [...]int64{patient.g.Stats().RenewFailures, standard.g.Stats().RenewFailures}
	killed := time.Now()
	server.Kill9()
	over := time.After(time.Minute)
	select {
	case <-standard.short:
		if took := time.Since(killed); took < standard.window {
			t.Errorf("errors after %v, want none within the window of %v", took, standard.window)
		}
	case <-over:
		t.Fatal("the default window has outlasted the minute")
	}
	waiter := standard.wait()
	<-over
	if n := standard.issued.Load() - standard.before; n != 0 || len(waiter) != 0 {
		t.Errorf("%d IDs and %d answers of NextContext after the first error, while the server was away", n, len(waiter))
	}
	if n := patient.issued.Load() - issued; n < 55*perSecond {
		t.Errorf("%d IDs within the minute, want 100,000 a second", n)
	}
	for i, l := range [...]*load{patient, standard} {
		if l.g.Stats().RenewFailures == before[i] {
			t.Errorf("load %d: no failed renewal within the minute", i)
		}
	}
	return waiter
}

// comeBack starts the server again and returns when both generators have renewed and go on.
func comeBack(t *testing.T, server *testserver.Server, patient, standard *load) {
	t.Helper()
	renewals := [...]int64{patient.g.Stats().Renewals, standard.g.Stats().Renewals}
	server.Restart()
	back := time.Now()
	for i, l := range [...]*load{patient, standard} {
		poll.Until(t, "a renewal after the outage", func() bool { return l.g.Stats().Renewals > renewals[i] })
		t.Logf("load %d has renewed %v after the server was back", i, time.Since(back).Round(time.Second/10))
	}
	poll.Until(t, "IDs with the default window", func() bool { return standard.issued.Load() >= standard.before+perSecond })
	if took := time.Since(back); took > 15*time.Second {
		t.Errorf("IDs with the default window %v after the server was back, want seconds", took)
	}
}
