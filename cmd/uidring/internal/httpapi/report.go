package httpapi

import "github.com/prometheus/client_golang/prometheus"

// Unready returns the name of the problem that GET /readyz answers with now, such as no-lease, or
// "" if the server is ready.
func (s *Server) Unready() string {
	if p := s.unready(); p != nil {
		return p.name
	}
	return ""
}

// Refusal returns the name of the problem that the last request for IDs was answered with because
// the generator had none, or "" if the last request got its IDs.
func (s *Server) Refusal() string {
	if short := s.shortage.Load(); short != nil {
		return ofTake(short.err).name
	}
	return ""
}

// RequestMetrics returns the metrics of requests, a part of /metrics.
func (s *Server) RequestMetrics() prometheus.Gatherer { return s.metrics.http }
