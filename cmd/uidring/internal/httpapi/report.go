package httpapi

import "github.com/prometheus/client_golang/prometheus"

// Unready returns the title and detail of the problem that GET /readyz answers with now, or two
// empty texts if the server is ready.
func (s *Server) Unready() (title, detail string) { return s.unready().texts() }

// Refusal returns the title and detail of the problem that the last request for IDs was answered
// with because the generator had none, or two empty texts if the last request got its IDs.
func (s *Server) Refusal() (title, detail string) {
	if short := s.shortage.Load(); short != nil {
		return ofTake(short.err).texts()
	}
	return "", ""
}

// RequestMetrics returns the metrics of requests, a part of /metrics.
func (s *Server) RequestMetrics() prometheus.Gatherer { return s.metrics.http }

func (p *problem) texts() (title, detail string) {
	if p == nil {
		return "", ""
	}
	return p.title, p.detail
}
