package httpapi

import "sync/atomic"

// places bound the number of concurrent requests. Nil places admit all.
type places struct {
	most  int
	under atomic.Int64 // requests that have entered and not left
}

func (l *places) enter() bool {
	if l == nil {
		return true
	}
	if l.under.Add(1) > int64(l.most) {
		l.under.Add(-1)
		return false
	}
	return true
}

func (l *places) leave() {
	if l != nil {
		l.under.Add(-1)
	}
}
