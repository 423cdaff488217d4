package httpapi

import (
	"errors"
	"log/slog"
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/generator"
)

// A pace refuses requests before they make the generator run further ahead of the clock than
// Config.MaxAhead. The generator itself refuses only when it has no block left, after it has spent
// the IDs that a large request had found: small requests would get none.
type pace struct {
	limiter *rate.Limiter // nil: no bound
	most    time.Duration // Config.MaxAhead
	logger  *slog.Logger
	refused episode
}

func newPace(cfg Config) *pace {
	p := &pace{most: cfg.MaxAhead, logger: cfg.Logger}
	if cfg.MaxAhead <= 0 || cfg.IDsPerSecond <= 0 {
		return p
	}
	burst := max(min(0.95*cfg.MaxAhead.Seconds()*cfg.IDsPerSecond, math.MaxInt/2), 1) // the generator counts whole units
	p.limiter = rate.NewLimiter(rate.Limit(cfg.IDsPerSecond), int(burst))
	stats := cfg.Generator.Stats()
	// Before the first request a worker ID may be ahead by more than MaxAhead.
	for used := stats.Ahead.Seconds()*cfg.IDsPerSecond - float64(stats.Remaining); used > 0; used -= burst {
		p.limiter.ReserveN(time.Now(), int(min(used, burst)))
	}
	return p
}

// spend takes n IDs from the bound. It returns ErrTooFarAhead if they are more than are left.
func (p *pace) spend(n int, now time.Time) error {
	if p.limiter == nil {
		return nil
	}
	if wait := take(p.limiter, min(n, p.limiter.Burst()), now); wait > 0 {
		err := generator.Passing{Err: uidring.ErrTooFarAhead, After: wait}
		p.note(err)
		return err
	}
	return nil
}

// note logs the first error of an episode if it is ErrTooFarAhead, at ERROR if requests for one ID
// are refused for some time, too.
func (p *pace) note(err error) {
	if errors.Is(err, uidring.ErrTooFarAhead) && p.refused.begins() {
		wait, _ := uidring.RetryAfter(err)
		log := p.logger.Warn
		if p.usedUp() > time.Second {
			log = p.logger.Error
		}
		log("requests are refused: ID time is as far ahead of the clock as it may be",
			"ahead", (p.most + wait).Round(time.Second), "setting", "max-ahead",
			"remedy", "wait, or raise max-ahead, if it was ahead at the start, as after workers recover; otherwise add servers, or limit clients with rate")
	}
}

// usedUp returns the time until a request for one ID is within the bound.
func (p *pace) usedUp() time.Duration {
	if p.limiter == nil {
		return 0
	}
	return missing(p.limiter, 1, time.Now())
}
