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
		ended := make(chan error)
		go func() { ended <- watch(ctx, file.Name(), func() { calls.Add(1) }) }()
		for i, value := range []uint64{0, 1, 1, 7, 1 << 60, 3} {
			_, err := file.WriteAt(binary.LittleEndian.AppendUint64(nil, value), generationAt)
			testkit.Must(t, err)
			time.Sleep(time.Second)
			synctest.Wait()
			if want := []int64{0, 1, 1, 2, 3, 4}[i]; calls.Load() != want {
				t.Errorf("with generation %d: %d calls, want %d", value, calls.Load(), want)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestWatchWithoutACounter(t *testing.T) {
	for want, path := range map[string]string{
		"is missing":            filepath.Join(t.TempDir(), "absent"),
		"has no VM_GEN_COUNTER": clock(t, magic, 1).Name(),
		"vmclock0 has no VM":    clock(t, 7, generationPresent).Name(),
	} {
		err := watch(t.Context(), path, func() { t.Error("a call") })
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
