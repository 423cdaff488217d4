package storetest

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/process"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// childEnv holds the name of the assigner of a child process, or the key of Sticky, and the DSN.
const childEnv = "UIDRING_STORETEST_CHILD"

// Child is for TestMain: it does not return in a process that takeAtOnce or RunSegments has
// started. For takeAtOnce it takes a worker ID, prints it, and holds it until its standard input
// ends.
func Child(open func(dsn string) (*sqlx.DB, error)) {
	segmenttest.Child(func(arg string) (segment.Source, error) {
		table, dsn, _ := strings.Cut(arg, " ")
		db, err := open(dsn)
		if err != nil {
			return nil, err
		}
		return sources()[table](db, sqlassigner.Config{}), nil
	})
	var arg string
	ok, err := process.Role(childEnv, &arg)
	if !ok {
		return
	}
	kind, dsn, _ := strings.Cut(arg, " ")
	var db *sqlx.DB
	if err == nil {
		db, err = open(dsn)
	}
	if err == nil {
		err = takeOne(db, kind)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func takeOne(db *sqlx.DB, kind string) error {
	a := sqlassigner.Sticky(db, kind, sqlassigner.Config{})
	if kind == "creates" {
		a = sqlassigner.Leased(db, namespace)
	} else if use := Kinds(db)[kind]; use != nil {
		a = use(sqlassigner.Config{})
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l, err := a.Assign(ctx, assignertest.Domain())
	if err != nil {
		return err
	}
	fmt.Println("worker", l.Grant().WorkerID)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// takeAtOnce has n processes take a worker ID side by side, and checks that all differ. Child i has
// the argument arg(i). The processes end without a release.
func takeAtOnce(t *testing.T, n int, arg func(i int) string) (workers []int64) {
	t.Helper()
	children := make([]*process.Child, n)
	for i := range children {
		children[i] = process.Play(t, childEnv, arg(i))
	}
	for i, c := range children {
		var w int64
		line, errLine := c.Line()
		if _, err := fmt.Sscanf(line, "worker %d", &w); err != nil {
			t.Fatalf("process %d: %q, %v", i, line, errLine)
		}
		workers = append(workers, w)
	}
	for _, c := range children {
		_ = c.Stdin.Close() // end all before waiting for one: under the race detector each takes a second
	}
	for _, c := range children {
		_ = c.Wait()
	}
	if different := len(slices.Compact(slices.Sorted(slices.Values(workers)))); different != n {
		t.Errorf("workers %v, %d different ones, want %d", workers, different, n)
	}
	return workers
}
