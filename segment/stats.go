package segment

// Stats is a snapshot of a Generator. Counters start at 0 in New.
type Stats struct {
	Remaining     int64 // IDs of all sources that are ready now
	Issued        int64 // IDs returned, and IDs reserved by lanes
	Retired       int64 // IDs dropped by Close and Invalidate, without a range that was being fetched
	Fetches       int64 // ranges fetched
	FetchFailures int64 // calls of sources that failed
	RejectedTakes int64 // errors returned by methods that issue IDs, except ErrClosed
	Sources       []SourceStats
}

// Snapshot returns s. With it, s and every struct that embeds it are a metrics.Stats of
// github.com/uidring/uidring/metrics.
func (s Stats) Snapshot() any { return s }

// SourceStats is the state of one source: Sources[0] is Config.Source.
type SourceStats struct {
	Step      int64 // size of the next range
	Remaining int64 // IDs ready now
	Err       error // of the last call; nil: the source has answered, or was not asked yet
}

// Stats returns a snapshot. It does not slow down callers of Next.
func (g *Generator) Stats() Stats {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := Stats{RejectedTakes: g.rejected.Load()}
	for _, p := range g.parts {
		counts := p.ring.Counts()
		part := SourceStats{Step: p.step.Load(), Remaining: int64(counts.Remaining)}
		if err := p.failed.Load(); err != nil {
			part.Err = *err
		}
		s.Remaining += part.Remaining
		s.Issued += int64(counts.Issued)
		s.Retired += int64(counts.Retired)
		s.Fetches += p.fetches.Load() //mutate:swap the two belong to different moments anyway
		s.FetchFailures += p.fails.Load()
		s.Sources = append(s.Sources, part)
	}
	return s
}
