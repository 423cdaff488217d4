package prometheus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/cleanup"
	"github.com/uidring/uidring/internal/test/testgen"
	generators "github.com/uidring/uidring/metrics/prometheus"
	"github.com/uidring/uidring/segment"
)

const (
	scrapes   = 15 * time.Second
	outage    = 20 * time.Minute // when it begins
	recovered = 30 * time.Minute
	end       = 40 * time.Minute
	rate      = 8 // IDs a second, half as many as the clock allows
)

// A store of leases and counters that can be cut off.
type store struct {
	leasestore.Store
	segment.Source
	down atomic.Bool
}

func (s *store) Status(ctx context.Context) (leasestore.Status, error) { // with which each claim and each renewal begins
	if s.down.Load() {
		return leasestore.Status{}, errors.New("connection refused")
	}
	return s.Store.Status(ctx)
}

func (s *store) Advance(ctx context.Context, name string, n int64) (segment.Range, error) {
	if s.down.Load() {
		return segment.Range{}, errors.New("connection refused")
	}
	return s.Source.Advance(ctx, name, n)
}

// live runs a generator, and a segment whose ranges last for the window, through an outage of their
// store, and returns the scraped values by name, in the notation of Prometheus's tests.
func live(t *testing.T) map[string][]string {
	t.Helper()
	const window = 30 * time.Second
	values := make(map[string][]string)
	synctest.Test(t, func(t *testing.T) {
		s := &store{Store: fileassigner.LeaseStore(t.TempDir()), Source: fileassigner.SegmentSource(t.TempDir(), fileassigner.SegmentConfig{AllowUndurable: true})}
		g := testgen.Cached(t, cached.Config{
			Layout:   bitsalloc.Layout{DeltaBits: 28, WorkerBits: 17, SequenceBits: 4, Unit: time.Second},
			Epoch:    time.Date(1999, time.December, 31, 0, 0, 0, 0, time.UTC), // a bubble begins in 2000
			Assigner: assigner.Leased(s, assigner.LeaseConfig{Window: window, AllowUndurable: true}),
		})
		step := rate * int64(window/time.Second)
		numbers, err := segment.New(segment.Config{Name: "orders", Source: s, Step: step, MaxStep: step})
		cleanup.Close(t, numbers, err)
		r := registry(t, generators.NewCollector(g.Stats, nil), generators.NewCollector(numbers.Stats, nil))
		for start := time.Now(); time.Since(start) <= end; time.Sleep(scrapes) {
			s.down.Store(time.Since(start) >= outage && time.Since(start) < recovered)
			for range rate * int(scrapes/time.Second) {
				_, _ = g.Next() // the alerts report errors
				_, _ = numbers.Next()
			}
			for name, value := range gather(t, r) {
				values[name] = append(values[name], strconv.FormatFloat(value, 'f', -1, 64))
			}
		}
	})
	return values
}

type (
	object = map[string]any
	list   = []any
)

// TestAlertsFireInAnOutage lets Prometheus judge the metrics of a generator that was cut off from
// its store, and answer the queries of the dashboard.
func TestAlertsFireInAnOutage(t *testing.T) {
	var series, checks list
	for name, values := range live(t) {
		series = append(series, object{"series": name + `{job="ids", instance="a"}`, "values": strings.Join(values, " ")})
	}
	for moment, firing := range map[time.Duration]string{
		outage:                  "",
		29 * time.Minute:        "UidringLeaseWindowLow UidringRejectedTakes UidringSegmentRejectedTakes UidringSegmentSourceFails UidringStoreUnreachable",
		recovered + time.Minute: "UidringRejectedTakes UidringSegmentRejectedTakes",
		end:                     "",
	} {
		var samples list
		for alert := range strings.FieldsSeq(firing) {
			samples = append(samples, object{"labels": fmt.Sprintf("{alertname=%q}", alert), "value": 1})
		}
		checks = append(checks, object{
			"expr": `count by (alertname) (ALERTS{alertstate="firing"})`, "eval_time": moment.String(), "exp_samples": samples,
		})
	}
	for _, query := range queries(t) {
		if ofServe.MatchString(query) {
			continue // a test of uidring serve answers it
		}
		checks = append(checks, object{
			"expr": "count(" + query + ")", "eval_time": outage.String(), "exp_samples": list{object{"labels": "{}", "value": 1}},
		})
	}
	rules, err := filepath.Abs(operations + "alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(object{ // which is YAML, too
		"rule_files": list{rules}, "evaluation_interval": scrapes.String(),
		"tests": list{object{"interval": scrapes.String(), "input_series": series, "promql_expr_test": checks}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "outage.yml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := promtool(t, "", "test", "rules", file); err != nil {
		t.Errorf("promtool test rules: %v\n%s\n%v", err, out, series)
	}
}
