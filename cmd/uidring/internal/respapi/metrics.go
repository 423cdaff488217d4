package respapi

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the metrics of a server.
type metrics struct {
	commands    *prometheus.CounterVec
	duration    *prometheus.HistogramVec
	connections prometheus.Gauge
}

func newMetrics() *metrics {
	return &metrics{
		commands: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "uidring_redis_commands_total",
			Help: "Commands of the Redis protocol answered, by command and code: ok, or the name of the problem.",
		}, []string{"command", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "uidring_redis_command_duration_seconds",
			Help:    "Time from a received command to its reply, by command.",
			Buckets: []float64{5e-6, 50e-6, 200e-6, 1e-3, 5e-3, 20e-3, 100e-3, 500e-3, 2},
		}, []string{"command"}),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "uidring_redis_connections",
			Help: "Open connections of the Redis protocol.",
		}),
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.commands, m.duration, m.connections}
}

// count counts a command; "" stands for bytes that are none.
func (m *metrics) count(command, code string, took time.Duration) {
	if command == "" {
		command = "other"
	} else {
		m.duration.WithLabelValues(command).Observe(took.Seconds())
	}
	m.commands.WithLabelValues(command, code).Inc()
}
