package chaos

import (
	"flag"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testkit"
)

var (
	lasts = flag.Duration("chaos.for", 40*time.Second, "how long faults go on, from 40s: less has no room for one of everything that is required")
	flush = flag.Int("chaos.flush", 1, "innodb_flush_log_at_trx_commit of MySQL and MariaDB; without 1 PostgreSQL has synchronous_commit=off; duplicates are expected")
	only  = flag.String("chaos.server", "", "mysql, mariadb or postgres; two of them one after the other if it is empty")
	seed  = flag.Uint64("chaos.seed", rand.Uint64(), "of the random faults")
)

func TestMain(m *testing.M) {
	beHolder()
	os.Exit(m.Run())
}

func skipWhereChaosCannotRun(t *testing.T) {
	t.Helper()
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("starts processes and a server; Windows cannot stop a process")
	}
}

// onServers runs a test on the server of the flag, or on the servers given.
func onServers(t *testing.T, servers []string, test func(t *testing.T, server string)) {
	skipWhereChaosCannotRun(t)
	t.Logf("seed %d", *seed)
	if *only != "" {
		servers = []string{*only}
	}
	for _, server := range servers {
		t.Run(server, func(t *testing.T) { test(t, server) })
	}
}

func TestChaos(t *testing.T) {
	onServers(t, []string{"mysql", "postgres"}, func(t *testing.T, server string) {
		r := newRun(t, server, *flush)
		r.chaos(*lasts, *seed)
		t.Log(r.judge)
		testkit.Must(t, r.judge.verdict(inflicted...))
	})
}

// A generator that asks the clock alone would repeat an hour of IDs.
func TestRestartsWithAClockAnHourBack(t *testing.T) {
	skipWhereChaosCannotRun(t)
	r := newRun(t, "mariadb", 1)
	for _, clock := range []time.Duration{0, -time.Hour, 0} {
		before := r.judge.of(differentIDs)
		holder := r.start(profile{DSN: r.server.DSN(), Kind: "fenced", WorkerID: 1, Owner: "host", Clock: clock, MaxLead: maxLead, MaxSkew: 2 * time.Hour, Window: 2 * time.Second, Rate: 12_500})
		testkit.Until(t, "more IDs", func() bool { return r.judge.of(differentIDs) > before+1000 })
		holder.kill()
	}
	testkit.Must(t, r.judge.verdict())
}

// A run that cannot fail shows nothing.
func TestVerdict(t *testing.T) {
	const id = 7<<13 | 2<<10 | 5 // delta 7, worker 2
	for _, tt := range []struct {
		process int // of the second message; the first has id, of process 1
		second  message
		want    string
	}{
		{1, message{IDs: []int64{id + 1}}, "no process killed"},
		{1, message{IDs: []int64{id}}, "duplicates: process 1 has sequence 5 of worker 2, delta 7"},
		{2, message{IDs: []int64{id + 1}}, "block of another process: process 2 has sequence 6 of worker 2, delta 7"},
		{12, message{Error: inRenew + "out of sync", Undocumented: true}, "process 12: an error that is not documented there: renewal: out of sync"},
	} {
		j := newJudge(true)
		j.hear(1, message{IDs: []int64{id}})
		j.hear(tt.process, tt.second)
		if err := j.verdict(inflicted...); !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: verdict %v, want %q", tt.second, err, tt.want)
		}
	}
	if documented(inRenew, assigner.ErrLayoutMismatch) != nil {
		t.Error("ErrLayoutMismatch counts as documented")
	}
}

// Ordinary days, each with a server of its own. No process is without IDs at any time.
func TestDays(t *testing.T) {
	onServers(t, []string{"mariadb", "postgres"}, func(t *testing.T, server string) {
		for name, scene := range map[string]struct {
			profile profile
			runs    func(*day, time.Duration)
		}{
			// A server takes seconds to start on a busy machine, and a fast process has IDs for two
			// thirds of a window.
			"deployments":           {profile{Window: 20 * time.Second}, (*day).deployments},
			"crash loops of Leased": {profile{Window: 5 * time.Second, Kind: "leased", Rate: 2_500}, (*day).crashLoops},
			"crash loops of Fenced": {profile{Window: 10 * time.Second, Kind: "fenced", WorkerID: 1, Owner: "host", Rate: 2_500}, (*day).crashLoops},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				d := &day{run: newRun(t, server, 1), random: rand.New(rand.NewPCG(*seed, 0)), profile: scene.profile}
				scene.runs(d, *lasts/2)
				t.Log(d)
				if n := d.judge.of(inTake + cached.ErrLeaseExhausted.Error()); n > 0 {
					t.Errorf("%d calls of Next have failed", n)
				}
				testkit.Must(t, d.judge.verdict(differentIDs))
			})
		}
	})
}
