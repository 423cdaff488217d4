package gentest

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/process"
	"github.com/uidring/uidring/internal/test/testkit"
)

// roleEnv makes the test binary a process that prints IDs.
const roleEnv = "GENTEST_ROLE"

// Main is the TestMain of a package. In a process that [Restarts] has started it prints the IDs of
// the func that open returns, until it is killed; otherwise it runs the tests.
func Main[Role any](m *testing.M, open func(Role) (next func() (int64, error), err error)) {
	var role Role
	child, err := process.Role(roleEnv, &role)
	if err == nil && !child {
		os.Exit(m.Run())
	}
	var next func() (int64, error)
	if err == nil {
		next, err = open(role)
	}
	for err == nil {
		var id int64
		if id, err = next(); err == nil {
			_, err = fmt.Println(id)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Restarts starts this program n times, one after the other, and passes the IDs to each. It kills
// each process as soon as that has printed the given number of IDs. role is for the open of [Main].
func Restarts(t *testing.T, role any, n, ids int, each func(id int64)) {
	t.Helper()
	for range n {
		child := process.Play(t, roleEnv, role)
		read := 0
		for line, err := child.Line(); err == nil; line, err = child.Line() { // until the pipe is drained
			id, err := strconv.ParseInt(line, 10, 64)
			testkit.Must(t, err)
			each(id)
			if read++; read == ids {
				child.Kill()
			}
		}
		if read < ids {
			t.Fatalf("a process printed %d IDs, want at least %d", read, ids)
		}
	}
}

// RestartsIncrease asks that the IDs of processes that follow one another increase. Their role is
// an epoch.
func RestartsIncrease(t *testing.T, n, ids int) {
	if testing.Short() {
		t.Skip("takes some seconds of real time: -short")
	}
	last := int64(0)
	Restarts(t, time.Now().Add(-time.Hour).Truncate(time.Millisecond), n, ids, func(id int64) {
		if id <= last {
			t.Errorf("ID %d after %d", id, last)
		}
		last = id
	})
}
