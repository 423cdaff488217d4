package incidents_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// A generator that asks the clock alone repeats an hour of IDs.
func TestRestartAfterTheClockWentBackAnHour(t *testing.T) {
	t.Parallel()
	dsn := mariaDB(t).DSN()
	for name, tt := range map[string]struct {
		service service
		kill    bool
		draws   int
	}{
		"cached, closed, on MariaDB":    {service{DSN: dsn, Address: "10.0.0.1"}, false, 20_000},
		"cached, killed, on MariaDB":    {service{DSN: dsn, Address: "10.0.0.2"}, true, 20_000},
		"cached, closed, on a file":     {service{Folder: testserver.DiskFolder(t), Address: "10.0.0.3"}, false, 20_000},
		"cached, killed, on a file":     {service{Folder: testserver.DiskFolder(t), Address: "10.0.0.4"}, true, 20_000},
		"defaultgen, killed, on a file": {service{Folder: testserver.DiskFolder(t), Address: "10.0.0.5", Default: true}, true, 2_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.service.Layout = bitsalloc.Default()
			clockBack(t, tt.service, tt.kill, tt.draws)
		})
	}
}

// clockBack runs a service, restarts it with a clock that has gone back an hour, and again when
// that has been put right.
func clockBack(t *testing.T, right service, kill bool, draws int) {
	wrong := right
	wrong.Clock = -time.Hour
	if _, err := wrong.generator(t.Context(), handle(t, wrong)); !errors.Is(err, assigner.ErrClockSkew) {
		t.Errorf("start with a clock an hour back: %v, want ErrClockSkew", err)
	}
	wrong.MaxSkew = 2 * time.Hour
	highest, worker := int64(0), int64(-1)
	for i, p := range processes(t, right, wrong, right) {
		got := startAll([]*child{p})[0]
		if i > 0 && got != worker {
			t.Errorf("start %d has worker %d, want %d as before", i, got, worker)
		}
		worker = got
		ids := p.draw(draws)
		if slices.Sort(ids); ids[0] <= highest || len(slices.Compact(ids)) != draws {
			t.Errorf("start %d: %d different IDs from %d on, want %d above %d", i, len(slices.Compact(ids)), ids[0], draws, highest)
		}
		highest = ids[draws-1]
		if kill {
			p.kill()
		} else {
			p.close()
		}
	}
}
