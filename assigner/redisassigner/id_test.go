package redisassigner_test

import (
	"reflect"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// The client takes IDs as values, members and fields, and reads them back.
func TestIDsInRedis(t *testing.T) {
	type order struct {
		ID       uidring.ID  `redis:"id"`
		Replaces *uidring.ID `redis:"replaces,omitempty"`
	}
	const id = uidring.ID(176636547297255431)
	client, ctx := connect(t, options(testserver.Redis(t).Addr())), t.Context()
	testkit.Must(t, client.Set(ctx, "value", id, 0).Err())
	testkit.Must(t, client.SAdd(ctx, "set", id).Err())
	testkit.Must(t, client.ZAdd(ctx, "ranking", redis.Z{Score: 1, Member: id}).Err())
	var value uidring.ID
	if err := client.Get(ctx, "value").Scan(&value); err != nil || value != id {
		t.Errorf("Get: %d, %v, want %d", value, err, id)
	}
	for _, members := range []*redis.StringSliceCmd{client.SMembers(ctx, "set"), client.ZRange(ctx, "ranking", 0, -1)} {
		var read []uidring.ID
		if err := members.ScanSlice(&read); err != nil || len(read) != 1 || read[0] != id || members.Val()[0] != id.String() {
			t.Errorf("%v: %d, %v, want %d", members, read, err, id)
		}
	}
	for key, want := range map[string]order{"one": {ID: id}, "both": {ID: id, Replaces: new(id - 1)}} {
		testkit.Must(t, client.HSet(ctx, key, want).Err())
		var read order
		if err := client.HGetAll(ctx, key).Scan(&read); err != nil || !reflect.DeepEqual(read, want) {
			t.Errorf("%s: %v, %v, want %v", key, read, err, want)
		}
	}
}
