package defaultgen

// NewCarried is New with cfg.Now in place of the system's clock, which is carried on between
// readings.
func NewCarried(cfg Config) (*Generator, error) {
	g, err := New(cfg)
	if err == nil {
		g.clock.carried = true
	}
	return g, err
}

// LockUnit keeps the unit from changing until end is called, which is the rest of endUnit.
func (g *Generator) LockUnit() (end func()) {
	g.mu.Lock()
	return func() {
		g.unit.Load().close()
		g.mu.Unlock()
	}
}

// Used returns the delta of the current unit as the keeper of the worker ID learns it.
func (g *Generator) Used() int64 {
	used, _ := g.deltas()
	return used
}

// Position returns the next sequence number of the current unit.
func (g *Generator) Position() int64 { return g.unit.Load().next.Load() }

// Add is the rest of a Fill that stalled after it had looked how many IDs the unit has left.
func (g *Generator) Add(n int64) (first int64, got int) { return g.unit.Load().add(n) }

// Oldest moves an idle generator on, as the keeper of the worker ID does before a renewal.
func (g *Generator) Oldest() int64 { return g.oldest() }
