package daemon

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
)

// horizonTimeout bounds the reading of the store for a scrape.
const horizonTimeout = 2 * time.Second

// A horizonMetric is the time of the namespace's horizon. It is absent while the store does not
// answer, and until another program calls leasestore.Horizon for the first time: a scrape must not
// take the past away from package backdate.
type horizonMetric struct {
	store leasestore.Store
	alloc *bitsalloc.Allocator
	desc  *prometheus.Desc
}

func newHorizonMetric(store leasestore.Store, alloc *bitsalloc.Allocator) horizonMetric {
	return horizonMetric{store, alloc, prometheus.NewDesc("uidring_horizon_timestamp_seconds",
		"Time of the ID below which the namespace is complete, in seconds since 1970. Absent until a program has asked for it.", nil, nil)}
}

// Describe implements [prometheus.Collector].
func (m horizonMetric) Describe(descs chan<- *prometheus.Desc) { descs <- m.desc }

// Collect implements [prometheus.Collector].
func (m horizonMetric) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), horizonTimeout)
	defer cancel()
	read := make(chan int64, 1) // SQLite waits for a lock beyond the end of ctx
	go func() {
		defer close(read)
		if meta, err := m.store.LoadMeta(ctx); err != nil || meta.Horizon == 0 {
			return
		}
		if id, err := leasestore.Horizon(ctx, m.store); err == nil {
			read <- id
		}
	}()
	select {
	case id, ok := <-read:
		if ok {
			fields, _ := m.alloc.Parse(id) // the layout of the store is the generator's
			metrics <- prometheus.MustNewConstMetric(m.desc, prometheus.GaugeValue, float64(fields.Time.UnixMilli())/1000)
		}
	case <-ctx.Done():
	}
}
