package dashboard

import (
	"math"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// traffic counts the requests under /v1 since the start, by the metrics of the API.
type traffic struct {
	answered, refused, failed float64 // all, with status 4xx, with status 5xx
	buckets                   []bucket
}

// A bucket counts the answers that took up to a time. Its count includes the buckets before it.
type bucket struct{ most, count float64 }

// readTraffic reads uidring_http_requests_total and uidring_http_request_duration_seconds. An error
// leaves the traffic incomplete: charts are no reason to fail.
func readTraffic(metrics prometheus.Gatherer) (t traffic) {
	families, _ := metrics.Gather()
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := make(map[string]string)
			for _, pair := range m.GetLabel() {
				labels[pair.GetName()] = pair.GetValue()
			}
			if !strings.HasPrefix(labels["route"], "/v1/") {
				continue
			}
			switch family.GetName() {
			case "uidring_http_requests_total":
				t.count(labels["code"], m.GetCounter().GetValue())
			case "uidring_http_request_duration_seconds":
				for i, b := range m.GetHistogram().GetBucket() {
					if i == len(t.buckets) {
						t.buckets = append(t.buckets, bucket{most: b.GetUpperBound()})
					}
					t.buckets[i].count += float64(b.GetCumulativeCount())
				}
			}
		}
	}
	return t
}

func (t *traffic) count(code string, n float64) {
	t.answered += n
	switch code[:min(1, len(code))] {
	case "4":
		t.refused += n
	case "5":
		t.failed += n
	}
}

// p99 returns the time within which 99 % of the requests since before were answered, in seconds,
// interpolated as histogram_quantile of Prometheus does. Times above the last bucket count as its
// bound. It returns NaN without requests.
func (t traffic) p99(before traffic) number {
	since := slices.Clone(t.buckets)
	for i := range min(len(since), len(before.buckets)) {
		since[i].count -= before.buckets[i].count
	}
	wanted := 0.99 * (t.answered - before.answered)
	if wanted <= 0 || len(since) == 0 {
		return none()
	}
	low := bucket{}
	for _, b := range since {
		if b.count >= wanted {
			return number(low.most + (b.most-low.most)*math.Max(0, wanted-low.count)/math.Max(1, b.count-low.count))
		}
		low = b
	}
	return number(low.most)
}
