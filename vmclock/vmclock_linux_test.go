package vmclock

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/test/testkit"
)

// clock makes a file that looks like the device.
func clock(t *testing.T, magic uint32, flags uint64) *os.File {
	t.Helper()
	page := make([]byte, os.Getpagesize())
	binary.LittleEndian.PutUint32(page[magicAt:], magic)
	binary.LittleEndian.PutUint64(page[flagsAt:], flags)
	file, err := os.Create(filepath.Join(t.TempDir(), "vmclock0"))
	testkit.Must(t, err)
	t.Cleanup(func() { _ = file.Close() })
	_, err = file.Write(page)
	testkit.Must(t, err)
	return file
}

func TestWatchCallsInvalidateOncePerResumption(t *testing.T) {
	file := clock(t, magic, 1|generationPresent)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var calls atomic.Int64
		w, err := open(file.Name())
		testkit.Must(t, err)
		for i, value := range []uint64{5, 5, 1, 1, 7, 1 << 60, 3} {
			_, err := file.WriteAt(binary.LittleEndian.AppendUint64(nil, value), generationAt)
			testkit.Must(t, err)
			if i == 0 { // a resumption before Watch counts
				go w.Watch(ctx, func() { calls.Add(1) })
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if want := []int64{1, 1, 2, 2, 3, 4, 5}[i]; calls.Load() != want {
				t.Errorf("with generation %d: %d calls, want %d", value, calls.Load(), want)
			}
		}
		cancel()
		time.Sleep(time.Second) // Watch returns
	})
}

func TestOpenWithoutACounter(t *testing.T) {
	for want, path := range map[string]string{
		"is missing":            filepath.Join(t.TempDir(), "absent"),
		"has no VM_GEN_COUNTER": clock(t, magic, 1).Name(),
		"vmclock0 has no VM":    clock(t, 7, generationPresent).Name(),
	} {
		if _, err := open(path); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
