package defaultgen_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/internal/testkit/fakeassigner"
	"github.com/uidring/uidring/internal/testkit/recorder"
)

// TestLogRecords expects the same level, message and keys as package cached, since operators search
// and alert for them.
func TestLogRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log recorder.Recorder
		store := &fakeassigner.Assigner{OnAssign: fakeassigner.Fresh}
		store.OnRenew = func(context.Context, *assigner.Grant, int64, int64) error {
			switch n := store.Renewals.Load(); {
			case n < 5:
				return errors.New("connection refused")
			case n == 10:
				return fmt.Errorf("%w: taken over by \"b\"", assigner.ErrWorkerRowLost)
			}
			return nil
		}
		layout := narrow(time.Second)
		layout.DeltaBits = 24
		epoch := newEpoch()
		g := open(t, defaultgen.Config{Assigner: store, Layout: layout, Epoch: epoch, DatacenterID: 3, Logger: log.TextLogger(), Trace: defaultgen.Trace{
			TakeRejected: func(error) { panic("a mistake") },
		}})
		fill(t, g, 16)
		if _, err := g.Next(); !errors.Is(err, defaultgen.ErrSequenceExhausted) {
			t.Fatalf("Next of a unit that is used up: %v", err)
		}
		time.Sleep(10 * time.Minute)
		want := `level=INFO msg="worker ID assigned" worker=1 datacenter=3 guarantee=fresh
level=WARN msg="the delta field is used up within a year" expires=` + epoch.Add(1<<24*time.Second).Format("2006-01-02T15:04:05.000Z") +
			` layout=24/3/10/4@1s
level=ERROR msg="panic in Trace.TakeRejected" panic="a mistake" stack="(of a goroutine)"
level=WARN msg="worker ID: call to the store failed" worker=1 error="connection refused"
level=INFO msg="worker ID: the store answers again" worker=1
level=ERROR msg="worker ID lost" worker=1 error="assigner: worker row lost: taken over by \"b\""
level=INFO msg="worker ID assigned" worker=2 datacenter=3 guarantee=fresh
`
		if got := strings.Join(log.Read(), "\n") + "\n"; got != want {
			t.Errorf("log:\n%s\nwant:\n%s", got, want)
		}
	})
}
