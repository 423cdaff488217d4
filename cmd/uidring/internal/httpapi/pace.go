package httpapi

import (
	"errors"
	"log/slog"
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/throttle"
)

// A pace refuses requests before they make the generator run further ahead of the clock than
// Config.MaxAhead. The generator itself refuses only when it has no block left, after it has spent
// the IDs that a large request had found: small requests would get none.
type pace struct {
	limiter *rate.Limiter // nil: no bound
	most    time.Duration // Config.MaxAhead
	logger  *slog.Logger
	refused throttle.Episode
}

func newPace(cfg Config) *pace {
	p := &pace{most: cfg.MaxAhead, logger: cfg.Logger}
	if cfg.MaxAhead <= 0 || cfg.IDsPerSecond <= 0 {
		return p
	}
	burst := 0.95 * cfg.MaxAhead.Seconds() * cfg.IDsPerSecond // the generator counts whole units
	p.limiter = rate.NewLimiter(rate.Limit(cfg.IDsPerSecond), int(max(min(burst, math.MaxInt/2), 1)))
	stats := cfg.Generator.Stats()
	used := stats.Ahead.Seconds()*cfg.IDsPerSecond - float64(stats.Remaining) // before the first request
	p.limiter.AllowN(time.Now(), int(max(min(used, float64(p.limiter.Burst())), 0)))
	return p
}

// spend takes n IDs from the bound. It returns a *cached.AheadError if they are more than are left.
func (p *pace) spend(n int) error {
	if p.limiter == nil {
		return nil
	}
	if wait := take(p.limiter, min(n, p.limiter.Burst())); wait > 0 {
		return &cached.AheadError{Ahead: p.most, Max: p.most, RetryIn: wait}
	}
	return nil
}

// note logs the first error of an episode if it is a *cached.AheadError.
func (p *pace) note(err error) {
	ahead, ok := errors.AsType[*cached.AheadError](err)
	if ok && p.refused.Begins() {
		p.logger.Warn("requests are refused: clients draw more IDs than the layout has, and ID time is as far ahead of the clock as it may be",
			"ahead", ahead.Ahead.Round(time.Second), "setting", "max-ahead")
	}
}

// unready returns the problem of a request for one ID, or nil.
func (p *pace) unready() *problem {
	if p.limiter == nil {
		return nil
	}
	if wait := missing(p.limiter, 1, time.Now()); wait > 0 {
		return tooFarAhead.after(wait)
	}
	return nil
}

// take takes n, at most the burst, from a limiter, and returns 0, or it takes nothing and returns
// the time after which n may be taken.
func take(l *rate.Limiter, n int) (wait time.Duration) {
	now := time.Now()
	if l.AllowN(now, n) {
		return 0
	}
	return max(missing(l, n, now), time.Millisecond)
}

// missing returns the time until n may be taken from a limiter.
func missing(l *rate.Limiter, n int, now time.Time) time.Duration {
	seconds := (float64(n) - l.TokensAt(now)) / float64(l.Limit())
	return time.Duration(max(min(seconds, 1e9), 0) * float64(time.Second)) // a Duration ends at 9e9
}
