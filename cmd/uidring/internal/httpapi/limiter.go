package httpapi

import "sync/atomic"

// A limiter bounds the number of concurrent requests. A nil limiter admits all.
type limiter struct {
	most  int
	under atomic.Int64 // requests that have entered and not left
}

func (l *limiter) enter() bool {
	if l == nil {
		return true
	}
	if l.under.Add(1) > int64(l.most) {
		l.under.Add(-1)
		return false
	}
	return true
}

func (l *limiter) leave() {
	if l != nil {
		l.under.Add(-1)
	}
}
