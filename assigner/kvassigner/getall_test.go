package kvassigner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/kvassigner"
)

func TestGetAllReturnsTheEntriesThatExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		for i := range 1000 {
			keys = append(keys, fmt.Sprint("key", i))
		}
		missing := func(key string) bool { return strings.HasSuffix(key, "7") }
		began, calls := time.Now(), atomic.Int64{}
		got, err := kvassigner.GetAll(t.Context(), keys, func(_ context.Context, key string) ([]byte, string, error) {
			if calls.Add(1) > 64 {
				t.Error("more than 64 calls at once")
			}
			defer calls.Add(-1)
			time.Sleep(time.Second)
			if missing(key) {
				return nil, "", nil
			}
			return []byte("value of " + key), "1", nil
		})
		keys = slices.DeleteFunc(keys, missing)
		if took := time.Since(began); err != nil || len(got) != len(keys) || took != 16*time.Second {
			t.Fatalf("%d entries, %v, after %v; want %d after 16 s", len(got), err, took, len(keys))
		}
		for i, e := range got {
			if e.Key != keys[i] || string(e.Value) != "value of "+e.Key {
				t.Errorf("entry %s: %s, want %s", e.Key, e.Value, keys[i])
			}
		}
	})
}

func TestGetAllEndsWithTheFirstError(t *testing.T) {
	failed := errors.New("failed")
	get := func(ctx context.Context, key string) ([]byte, string, error) {
		if key == "b" {
			return nil, "", failed
		}
		<-ctx.Done()
		return nil, "", ctx.Err()
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for ctx, want := range map[context.Context]error{t.Context(): failed, ended: context.Canceled} {
		if got, err := kvassigner.GetAll(ctx, []string{"a", "b", "c"}, get); !errors.Is(err, want) || got != nil {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
}
