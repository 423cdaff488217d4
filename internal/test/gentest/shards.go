package gentest

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/keeper"
	"github.com/uidring/uidring/internal/test/fakeassigner"
	"github.com/uidring/uidring/internal/test/testkit"
)

// Sharded are layouts with few and with many sequence bits.
var Sharded = []bitsalloc.Layout{
	{DeltaBits: 31, WorkerBits: 24, SequenceBits: 8, Unit: time.Second},
	{DeltaBits: 31, WorkerBits: 19, SequenceBits: 13, Unit: time.Second}, // the default has no deltas for an ID a day
	bitsalloc.Recommended(),
	{DeltaBits: 41, WorkerBits: 12, SequenceBits: 10, Unit: time.Millisecond},
}

// CheckShards takes IDs, 80 for each shard, and asks that the fullest shard by ID modulo 2 to most
// has no more IDs than chance gives: five standard deviations above its share.
func CheckShards(t testing.TB, most int, next func() (int64, error)) {
	t.Helper()
	const each = 80
	ids := make([]int64, each*most)
	for i := range ids {
		id, err := next()
		testkit.Must(t, err)
		ids[i] = id
	}
	for shards := int64(2); shards <= int64(most); shards++ {
		got := make([]int, shards)
		for _, id := range ids[:each*shards] {
			got[id%shards]++
		}
		if fullest := slices.Max(got); fullest > each*16/10 {
			t.Errorf("the fullest of %d shards got %d IDs, want at most 1.6 times its share of %d", shards, fullest, each)
		}
	}
}

// shardsAcrossProcesses has a job that takes two IDs every hour, and processes that start together
// and take two each.
func (s *suite) shardsAcrossProcesses(t *testing.T) {
	for _, layout := range Sharded {
		for name, every := range map[string]time.Duration{"a job": time.Hour, "a fleet": 0} {
			worker, taken, c := int64(1), 0, s.config(keeper.Settings{Layout: layout, Logger: slog.New(slog.DiscardHandler)})
			c.Assigner = &fakeassigner.Assigner{OnAssign: func(_ context.Context, _ int, d assigner.Domain) (assigner.Grant, error) {
				return assigner.Grant{WorkerID: worker & (1<<layout.WorkerBits - 1), First: d.Now(), Last: assigner.Unlimited - 1, Guarantee: assigner.GuaranteeFenced}, nil
			}}
			var g Generator
			t.Log(layout, name)
			CheckShards(t, testkit.Scaled(64), func() (int64, error) {
				if taken++; taken%2 == 1 {
					if g != nil {
						testkit.Must(t, g.Close())
						time.Sleep(every)
						if every == 0 {
							worker++
						}
					}
					var err error
					if g, err = s.make(t, c); err != nil {
						return 0, err
					}
				}
				return g.Next()
			})
			testkit.Must(t, g.Close())
		}
	}
}
