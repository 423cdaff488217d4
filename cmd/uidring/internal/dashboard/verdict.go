package dashboard

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
)

// A verdict answers whether the service is all right, for people. Title does not change while the
// state lasts; More and Detail may contain numbers that do.
type verdict struct {
	Level  level  `json:"level"`
	Title  string `json:"title"`
	More   string `json:"more"` // continues the title, with a comma or colon; may be empty
	Detail string `json:"detail"`
}

// A level is the colour of a verdict.
type level string

const (
	good level = "good"
	warn level = "warn" // the service issues IDs, and needs attention
	bad  level = "bad"  // the service issues no IDs, or is about to stop issuing
)

// recently is the time over which a verdict counts rejected and failed requests.
const recently = 10 * time.Second

// A situation is the state that judge judges.
type situation struct {
	stats   cached.Stats
	unready reason // of /readyz
	refusal reason // of the last request for an ID
	failing bool   // the last call to the store of worker IDs failed
	limits  limits

	// In the last seconds, see recently:
	issued, rejected int64   // IDs, and calls without an ID
	failed           float64 // answers with status 5xx

	segments []string // names of segments without a range
}

// A reason says why there are no IDs. The zero reason is none.
type reason struct{ title, detail string }

// limits are the values from which on the page warns. They are the thresholds of the alerts in
// docs/operations/alerts.yml, fitted to the settings of the service. Durations are in seconds.
type limits struct {
	Lease  float64 `json:"lease"`  // smallest WindowLasts
	Ahead  float64 `json:"ahead"`  // largest Ahead
	Behind float64 `json:"behind"` // smallest Ahead, negative
	P99    float64 `json:"p99"`    // a request that waits for a lease waits as long
}

func newLimits(cfg Config) limits {
	l := limits{Lease: 10, Ahead: 600, Behind: -180, P99: 0.5}
	if cfg.Window > 0 {
		l.Lease = (cfg.Window / 3).Seconds()
	}
	if cfg.MaxAhead > 0 {
		l.Ahead = min(l.Ahead, cfg.MaxAhead.Seconds())
	}
	return l
}

// judge is the only place that decides whether the service is all right.
func judge(s situation) verdict {
	for _, rule := range []func(situation) (verdict, bool){noIDs, noStore, refusing, lowLease, wrongTime, ending} {
		if v, applies := rule(s); applies {
			return v
		}
	}
	v := verdict{good, "Issuing", "", "IDs are ready."}
	if s.fenced() {
		v.Detail = "IDs are ready, and the store of worker IDs answers."
	}
	return v
}

func (s situation) fenced() bool { return s.stats.Limit != assigner.Unlimited }

func noIDs(s situation) (verdict, bool) {
	why := s.unready
	switch {
	case why != reason{} && s.stats.Remaining > 0:
		return verdict{bad, "Not ready", ": " + uncapped(why.title), why.detail}, true
	case why != reason{}:
	case s.rejected > 0 && s.issued == 0:
		why = s.refusal
	default:
		return verdict{}, false
	}
	if (why == reason{}) {
		why = reason{"Requests get no IDs", "The log of the server says why."}
	}
	return verdict{bad, "Not issuing", ": " + uncapped(why.title), why.detail}, true
}

func noStore(s situation) (verdict, bool) {
	if !s.failing {
		return verdict{}, false
	}
	v := verdict{warn, "Store unreachable", "", "IDs are issued until the lease ends, then none until the store of worker IDs answers. The log says why it does not."}
	switch lasts := s.stats.WindowLasts; {
	case !s.fenced():
	case lasts <= 0:
		v.Level, v.More = bad, ", "+count(s.stats.Remaining, "ID")+" left"
		v.Detail = "The lease is used up: IDs are issued until the ring is empty, then none until the store of worker IDs answers. The log says why it does not."
	default:
		v.More = ", " + brief(lasts) + " left"
		if lasts.Seconds() < s.limits.Lease {
			v.Level = bad
		}
	}
	return v, true
}

func refusing(s situation) (verdict, bool) {
	switch {
	case s.rejected > 0:
		v := verdict{warn, "Issuing, not to all", "", count(int(s.rejected), "call") + " in the last 10 s got no ID."}
		if (s.refusal != reason{}) {
			v.More, v.Detail = ": "+uncapped(s.refusal.title), v.Detail+" "+s.refusal.detail
		}
		return v, true
	case len(s.segments) > 0:
		return verdict{warn, "Issuing, not from all segments", ": no range for " + strings.Join(s.segments, ", "),
			"Their counters have given no further range. The log says why."}, true
	case s.failed > 0:
		return verdict{warn, "Issuing, with errors", "",
			count(int(s.failed+0.5), "request") + " in the last 10 s got an answer with status 5xx. The metrics and the log say which."}, true
	}
	return verdict{}, false
}

func lowLease(s situation) (verdict, bool) {
	lasts := s.stats.WindowLasts
	if !s.fenced() || lasts.Seconds() >= s.limits.Lease {
		return verdict{}, false
	}
	return verdict{warn, "Issuing, lease window low", ": " + brief(lasts) + " left",
		"The store of worker IDs answers, but grants less than IDs are used. Expected for a moment in a burst."}, true
}

func wrongTime(s situation) (verdict, bool) {
	const detail = "IDs are unique all the same. OPERATIONS.md says under UidringAhead and UidringBehind when that is expected."
	switch ahead := s.stats.Ahead; {
	case ahead.Seconds() >= s.limits.Ahead:
		return verdict{warn, "Issuing, far ahead of the clock", " by " + brief(ahead), detail}, true
	case ahead.Seconds() < s.limits.Behind:
		return verdict{warn, "Issuing, far behind the clock", " by " + brief(-ahead), detail}, true
	}
	return verdict{}, false
}

func ending(s situation) (verdict, bool) {
	if !s.stats.Expiring {
		return verdict{}, false
	}
	return verdict{warn, "Issuing, layout ends soon", " on " + s.stats.Expires.UTC().Format(time.DateOnly),
		"Less than a year is left: after that no server with this layout and epoch issues IDs."}, true
}

// brief formats a duration of a verdict, in whole seconds.
func brief(d time.Duration) string {
	s := int(d.Seconds())
	switch {
	case s < 120:
		return fmt.Sprintf("%d s", s)
	case s < 2*3600:
		return fmt.Sprintf("%d min", s/60)
	}
	return fmt.Sprintf("%d h", s/3600)
}

// count formats n with a noun: "1 ID", "12,345 IDs".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " " + noun + "s"
}

// uncapped writes the first letter small, unless the second is a capital letter.
func uncapped(title string) string {
	if len(title) > 1 && title[1] >= 'A' && title[1] <= 'Z' {
		return title
	}
	return strings.ToLower(title[:min(1, len(title))]) + title[min(1, len(title)):]
}
