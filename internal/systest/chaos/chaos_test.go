package chaos

import (
	"flag"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/testserver"
)

// chosen is written by package flag alone.
var chosen = flags()

func flags() *options {
	o := &options{seed: rand.Uint64()}
	flag.DurationVar(&o.duration, "chaos.for", time.Minute, "how long faults go on")
	flag.IntVar(&o.flush, "chaos.flush", 1, "innodb_flush_log_at_trx_commit of the server; without 1 duplicates are expected")
	flag.Uint64Var(&o.seed, "chaos.seed", o.seed, "of the random faults")
	return o
}

func TestMain(m *testing.M) {
	runChild()
	os.Exit(m.Run())
}

func skipWhereChaosCannotRun(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes and a server")
	}
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot stop a process, nor give it a third file")
	}
}

func TestChaos(t *testing.T) {
	skipWhereChaosCannotRun(t)
	t.Logf("seed %d", chosen.seed)
	server := testserver.MariaDB(t, "--innodb-flush-log-at-trx-commit="+strconv.Itoa(chosen.flush))
	r, err := newRun(t.Context(), *chosen, server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}()
	if err := r.execute(t.Context()); err != nil {
		t.Error(err)
	}
	t.Log(r.line())
	if err := r.verdict(); err != nil {
		t.Error(err)
	}
}
