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

// Main is the TestMain of a package. In a process that [RestartsIncrease] has started it prints the
// IDs of the func that open returns, until it is killed; otherwise it runs the tests.
func Main(m *testing.M, open func(epoch time.Time) (next func() (int64, error), err error)) {
	var epoch time.Time
	child, err := process.Role(roleEnv, &epoch)
	if err == nil && !child {
		os.Exit(m.Run())
	}
	var next func() (int64, error)
	if err == nil {
		next, err = open(epoch)
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

// RestartsIncrease starts this program n times, one after the other, with the same epoch for the
// open of [Main]. It kills each process as soon as that has printed the given number of IDs, and
// asks that all IDs increase.
func RestartsIncrease(t *testing.T, n, ids int) {
	if testing.Short() {
		t.Skip("takes some seconds of real time: -short")
	}
	last, epoch := int64(0), time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	for range n {
		child := process.Play(t, roleEnv, epoch)
		read := 0
		for line, err := child.Line(); err == nil; line, err = child.Line() { // until the pipe is drained
			id, err := strconv.ParseInt(line, 10, 64)
			testkit.Must(t, err)
			if id <= last {
				t.Errorf("ID %d after %d", id, last)
			}
			last = id
			if read++; read == ids {
				child.Kill()
			}
		}
		if read < ids {
			t.Fatalf("a process printed %d IDs, want at least %d", read, ids)
		}
	}
}
