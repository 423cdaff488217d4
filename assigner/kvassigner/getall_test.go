package kvassigner_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/kvassigner"
)

func TestGetAllReturnsTheEntriesThatExist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make([]string, 1000)
		for i := range keys {
			keys[i] = fmt.Sprint("key", i)
		}
		began := time.Now()
		got, err := kvassigner.GetAll(t.Context(), keys, func(_ context.Context, key string) ([]byte, string, error) {
			time.Sleep(time.Second)
			if strings.HasSuffix(key, "7") {
				return nil, "", nil
			}
			return []byte("value of " + key), "1", nil
		})
		if took := time.Since(began); err != nil || len(got) != 900 || took != 16*time.Second { // 64 at once
			t.Fatalf("%d entries, %v, after %v; want 900 after 16 s", len(got), err, took)
		}
		for _, e := range got {
			if string(e.Value) != "value of "+e.Key {
				t.Errorf("entry %s: %s", e.Key, e.Value)
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
	if got, err := kvassigner.GetAll(t.Context(), []string{"a", "b", "c"}, get); !errors.Is(err, failed) || got != nil {
		t.Errorf("%v, %v; want %v", got, err, failed)
	}
}
