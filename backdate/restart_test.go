package backdate_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/backdate"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/process"
	"github.com/uidring/uidring/internal/test/testserver"
)

// folderEnv makes the test binary a process that issues IDs from leases in the folder.
const folderEnv = "BACKDATE_FOLDER"

func TestMain(m *testing.M) {
	var folder string
	child, err := process.Role(folderEnv, &folder)
	if err == nil && !child {
		os.Exit(m.Run())
	}
	if err == nil {
		err = printIDs(folder)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func numbers(folder string) assigner.Assigner {
	return assigner.Auto(fileassigner.LeaseStore(folder), assigner.LeaseConfig{})
}

// printIDs prints IDs of the same instants in each process, until it is killed.
func printIDs(folder string) error {
	g, err := backdate.New(context.Background(), backdate.Config{Assigner: numbers(folder)})
	for i := 0; err == nil; i++ {
		var id int64
		if id, err = g.At(past.Add(time.Duration(i%100) * time.Second)); err == nil {
			_, err = fmt.Println(id)
		}
	}
	return err
}

// Processes with one namespace issue IDs of the same instants and are killed, while a generator of
// package cached issues IDs of now in the same namespace.
func TestKilledProcessesRepeatNoID(t *testing.T) {
	folder := testserver.DiskFolder(t)
	now, err := cached.New(cached.Config{Assigner: numbers(folder)})
	if err != nil {
		t.Fatal(err)
	}
	defer now.Close()
	var ids idset.Set
	for range 4 {
		child := process.Play(t, folderEnv, folder)
		for read := 0; ; read++ {
			line, err := child.Line()
			if err != nil {
				break // killed, and the pipe drained
			}
			id, err := strconv.ParseInt(line, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			ids.Once(t, id)
			if id, err = now.Next(); err != nil {
				t.Fatal(err)
			}
			ids.Once(t, id)
			if read == 1000 {
				child.Kill()
			}
		}
	}
	if ids.Len() < 4*2*1000 {
		t.Errorf("%d IDs, want at least %d", ids.Len(), 4*2*1000)
	}
}
