package kvassigner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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
		var mu sync.Mutex
		var calls, most int
		count := func(n int) {
			mu.Lock()
			defer mu.Unlock()
			calls += n
			most = max(most, calls)
		}
		got, err := kvassigner.GetAll(t.Context(), keys, func(_ context.Context, key string) ([]byte, string, error) {
			count(1)
			defer count(-1)
			time.Sleep(time.Second)
			if strings.HasSuffix(key, "7") {
				return nil, "", nil
			}
			return []byte("value of " + key), "1", nil
		})
		keys = slices.DeleteFunc(keys, func(key string) bool { return strings.HasSuffix(key, "7") })
		if err != nil || len(got) != len(keys) {
			t.Fatalf("%d entries, %v; want %d", len(got), err, len(keys))
		}
		for i, e := range got {
			if e.Key != keys[i] || string(e.Value) != "value of "+e.Key {
				t.Errorf("entry %s: %s, want %s", e.Key, e.Value, keys[i])
			}
		}
		if most != 64 {
			t.Errorf("%d calls at once, want 64", most)
		}
	})
}

func TestGetAllEndsWithTheFirstError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("failed")
		got, err := kvassigner.GetAll(t.Context(), []string{"a", "b", "c"}, func(ctx context.Context, key string) ([]byte, string, error) {
			if key == "b" {
				return nil, "", failed
			}
			<-ctx.Done()
			return nil, "", ctx.Err()
		})
		if !errors.Is(err, failed) || got != nil {
			t.Errorf("%v, %v; want the error of b", got, err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if got, err := kvassigner.GetAll(ended, []string{"a"}, nil); !errors.Is(err, context.Canceled) || got != nil {
			t.Errorf("%v, %v; want the end of the context", got, err)
		}
	})
}
