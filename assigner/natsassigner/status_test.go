package natsassigner_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/natsassigner"
	"github.com/uidring/uidring/internal/test/stores"
	"github.com/uidring/uidring/internal/test/testkit"
)

func TestStatusTellsTheFaultsOfABucket(t *testing.T) {
	_, js := serve(t, 1)
	for _, tt := range []struct {
		want   string // "": durable
		change func(*jetstream.StreamConfig)
	}{
		{"", func(*jetstream.StreamConfig) {}},
		{"", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject, c.MaxBytes = 64, 1<<20 }},
		{"nats stream edit KV_b --no-allow-direct", func(c *jetstream.StreamConfig) { c.AllowDirect = true }},
		{"storage is memory", func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }},
		{"persist_mode is async", func(c *jetstream.StreamConfig) { c.PersistMode = jetstream.AsyncPersistMode }},
		{"max_age 1h0m0s deletes rows", func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }},
		{"discard old", func(c *jetstream.StreamConfig) { c.Discard, c.MaxMsgs = jetstream.DiscardOld, 100 }},
		{"discard old", func(c *jetstream.StreamConfig) { c.Discard, c.MaxBytes = jetstream.DiscardOld, 1<<20 }},
		{"retention Interest", func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy }},
		{"retention WorkQueue", func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }},
		{"copy of another", func(c *jetstream.StreamConfig) { c.Sources = []*jetstream.StreamSource{{Name: "KV_" + bucket}} }},
		{"copy of another", func(c *jetstream.StreamConfig) {
			c.Mirror, c.Subjects, c.AllowRollup, c.Discard = &jetstream.StreamSource{Name: "KV_" + bucket}, nil, false, jetstream.DiscardOld
		}},
		{"no_ack", func(c *jetstream.StreamConfig) { c.NoAck = true }},
	} {
		cfg := natsassigner.StreamConfig("b", 1)
		tt.change(&cfg)
		if _, err := js.CreateStream(t.Context(), cfg); err != nil {
			t.Errorf("create the stream with %s: %v", tt.want, err)
			continue
		}
		got := stores.Status(t, natsassigner.LeaseStore(js, "b", "orders", durable))
		if text := strings.Join(got.Faults, "; "); tt.want == "" && text != "" || !strings.Contains(text, tt.want) || len(got.Faults) > 1 || !got.Lossy {
			t.Errorf("faults %q, lossy %v; want %q, lossy with one replica", got.Faults, got.Lossy, tt.want)
		}
		testkit.Must(t, js.DeleteStream(t.Context(), cfg.Name))
	}
}

// A handle that was opened before must not read from a replica.
func TestRenewNoticesDirectGets(t *testing.T) {
	_, js := serve(t, 3)
	s := natsassigner.LeaseStore(js, bucket, "orders", durable)
	l := stores.Assign(t, s)
	cfg := natsassigner.StreamConfig(bucket, 3)
	for _, direct := range []bool{true, false} {
		cfg.AllowDirect = direct
		if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		limit := l.Grant().Last
		if err := stores.Extend(t.Context(), l, limit, limit+100); errors.Is(err, leasestore.ErrNotDurable) != direct || (err != nil) != direct {
			t.Errorf("Renew with allow_direct %v: %v", direct, err)
		}
	}
	unknown := stores.Status(t, natsassigner.LeaseStore(js, bucket, "orders", natsassigner.Config{}))
	if text := strings.Join(unknown.Faults, "; "); !unknown.Lossy || !strings.Contains(text, "sync_interval: always") {
		t.Errorf("status without SyncAlways: %+v, want a lossy store with the fault", unknown)
	}
}

func TestStatusKnowsTheBucketByTheBirthOfItsStream(t *testing.T) {
	server, js := serve(t, 3)
	s := natsassigner.LeaseStore(js, bucket, "orders", durable)
	stores.ItsIdentityStays(t, s, server, "^stream KV_uidring created 20")
	stores.ACopyIsQuarantined(t, s, func() leasestore.Store {
		from, err := js.KeyValue(t.Context(), bucket)
		testkit.Must(t, err)
		create(t, js, natsassigner.StreamConfig("copy", 3))
		to, err := js.KeyValue(t.Context(), "copy")
		testkit.Must(t, err)
		for _, name := range []string{"meta.orders", "worker.orders.0000000000000000.000"} {
			entry, err := from.Get(t.Context(), name)
			testkit.Must(t, err)
			if _, err := to.Put(t.Context(), name, entry.Value()); err != nil {
				t.Fatal(err)
			}
		}
		return natsassigner.LeaseStore(js, "copy", "orders", durable)
	})
}
