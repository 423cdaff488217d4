package server

import "sync/atomic"

// A gate lets a number of requests pass at once. A nil gate lets all pass.
type gate struct {
	most  int
	under atomic.Int64
}

func (g *gate) enter() bool {
	if g == nil {
		return true
	}
	if g.under.Add(1) > int64(g.most) {
		g.under.Add(-1)
		return false
	}
	return true
}

func (g *gate) leave() {
	if g != nil {
		g.under.Add(-1)
	}
}
