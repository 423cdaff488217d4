package dashboard

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
)

// A verdict tells operators whether the service is all right, and the remedy if not. Title does not
// change while the state lasts; More and Detail may contain numbers that do.
type verdict struct {
	Level  level  `json:"level"`
	Title  string `json:"title"`
	More   string `json:"more"` // continues the title, with a comma or colon; may be empty
	Detail string `json:"detail"`
	Book   string `json:"book,omitempty"` // URL of a section of the run book
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
	began   time.Duration // how far ahead of the clock the first ID of the worker ID is now
	unready string        // name of the problem of /readyz; "": none
	refusal string        // name of the problem of the last request without IDs in the last seconds; "": none
	store   string        // of worker IDs
	outage  outage        // of the store
	limits  limits

	// In the last seconds, see recently:
	issued, rejected int64 // IDs, and calls without an ID
	failed           int64 // answers with status 5xx

	segments   []string // names of segments without a range
	segmentErr error    // of one of them
}

// A reason says why there are no IDs.
type reason struct{ title, detail, book string }

// reasons are by the name of the API's problem, whose own texts advise clients.
var reasons = map[string]reason{
	"":               {"requests get no IDs", "The log of the server says why.", "uidringrejectedtakes"},
	"shutting-down":  {"shutting down", "The server was told to end, and finishes the requests under way.", ""},
	"no-lease":       {"no worker ID is held", "The lease is used up or lost. The server tries to get another by itself; if that takes more than a minute, its log says why.", "uidringleasewindowlow"},
	"too-far-ahead":  {"ID time is too far ahead", "Clients draw more IDs than the layout has per second. Add servers, or limit clients with rate.", "uidringahead"},
	"began-ahead":    {"the worker ID began ahead of the clock", "An earlier holder was ahead, or workers recover has raised the fence. Wait for the clock, or start the server with a larger max-ahead.", "uidringahead"},
	"time-exhausted": {"the layout has ended", "The time field of the IDs is used up. Migrate to another layout.", "a-layout-is-about-to-end"},
}

func (s situation) reasonFor(problem string) reason {
	if problem == "too-far-ahead" && s.began > s.stats.Ahead/2 {
		problem = "began-ahead"
	}
	if r, ok := reasons[problem]; ok {
		return r
	}
	return reason{strings.ReplaceAll(problem, "-", " "), reasons[""].detail, reasons[""].book}
}

// limits are the values from which on the page warns. They are the thresholds of the alerts in
// docs/operations/alerts.yml, fitted to the settings of the service. Durations are in seconds.
type limits struct {
	Lease  float64 `json:"lease"`  // smallest WindowLasts
	Ahead  float64 `json:"ahead"`  // largest Ahead
	Behind float64 `json:"behind"` // smallest Ahead, negative
}

func newLimits(cfg Config) limits {
	l := limits{Lease: (cmp.Or(cfg.Window, 2*time.Minute) / 3).Seconds(), Ahead: 300, Behind: -180}
	if cfg.MaxAhead > 0 {
		l.Ahead = min(l.Ahead, cfg.MaxAhead.Seconds())
	}
	return l
}

// runBook has the sections that verdicts name.
const runBook = "https://github.com/uidring/uidring/blob/main/docs/OPERATIONS.md#"

// judge is the only place that decides whether the service is all right.
func judge(s situation) verdict {
	v := s.verdict()
	if v.Book != "" {
		v.Book = runBook + v.Book
	}
	return v
}

// verdict returns the most urgent verdict that applies. Its Book is a section of the run book.
func (s situation) verdict() verdict {
	lasts, ahead := s.stats.WindowLasts, s.stats.Ahead
	switch {
	case s.noIDs():
		return s.notIssuing()
	case s.outage.err != nil:
		return s.withoutStore()
	case s.withoutID() > 0:
		return s.notToAll()
	case len(s.segments) > 0:
		return verdict{warn, "Issuing, not from all segments", ": no range for " + strings.Join(s.segments, ", "),
			"The store has given their counters no further range: " + cause(s.segmentErr) + ".", "uidringsegmentsourcefails"}
	case s.failed > 0:
		return verdict{warn, "Issuing, with errors", "",
			count(s.failed, "request") + " in the last 10 s got an answer with status 5xx. The metrics and the log say which.", "uidringrequestsfail"}
	case s.fenced() && s.issued > 0 && lasts.Seconds() < s.limits.Lease:
		return verdict{warn, "Issuing, lease window low", ": " + brief(lasts) + " left",
			"The store of worker IDs answers, but grants less than IDs are used. Expected for a moment in a burst; if it lasts, set a larger window.", "uidringleasewindowlow"}
	case ahead.Seconds() >= s.limits.Ahead:
		return verdict{warn, "Issuing, far ahead of the clock", " by " + brief(ahead),
			"IDs stay unique. If it falls, wait: a burst or an earlier server is the cause. If it grows, add servers. Check the clock of this host, too.", "uidringahead"}
	case ahead.Seconds() < s.limits.Behind:
		return verdict{warn, "Issuing, far behind the clock", " by " + brief(-ahead),
			"IDs stay unique, and show a time that is too early: the machine was suspended, or its clock was set. If that matters, restart the server.", "uidringbehind"}
	case !time.Now().Before(s.stats.Expires.AddDate(-1, 0, 0)):
		return verdict{warn, "Issuing, layout ends soon", " on " + s.stats.Expires.UTC().Format(time.DateOnly),
			"Less than a year is left: after that no server with this layout and epoch issues IDs.", "a-layout-is-about-to-end"}
	case s.fenced():
		return verdict{good, "Issuing", "", "IDs are ready, and the store of worker IDs answers.", ""}
	}
	return verdict{good, "Issuing", "", "IDs are ready.", ""}
}

func (s situation) fenced() bool { return s.stats.LastGranted != assigner.Unlimited }

// noIDs reports whether requests get no IDs. While ID time is too far ahead, some may get theirs.
func (s situation) noIDs() bool {
	if s.issued > 0 {
		return s.unready != "" && s.unready != "too-far-ahead"
	}
	return s.unready != "" || s.rejected > 0
}

// notIssuing is the title of a service without IDs.
const notIssuing = "Not issuing"

func (s situation) notIssuing() verdict {
	title, problem := notIssuing, cmp.Or(s.unready, s.refusal)
	if s.unready == "shutting-down" {
		title = "Not ready"
	}
	why := s.reasonFor(problem)
	if s.outage.err != nil && problem == "no-lease" {
		why.title, why.detail = s.outage.texts(s.store)
		why.title = strings.ToLower(why.title)
	}
	return verdict{bad, title, ": " + why.title, why.detail, why.book}
}

func (s situation) withoutStore() verdict {
	title, detail := s.outage.texts(s.store)
	v := verdict{warn, title, "", detail, "uidringstoreunreachable"}
	switch lasts := s.stats.WindowLasts; {
	case !s.fenced():
	case lasts <= 0:
		v.Level, v.More = bad, ", "+count(int64(s.stats.Remaining), "ID")+" left"
	default:
		v.More = ", IDs for another " + brief(lasts)
		if lasts.Seconds() < s.limits.Lease {
			v.Level = bad
		}
	}
	return v
}

// withoutID returns the number of requests that got no ID. Not each of them reaches the generator.
func (s situation) withoutID() int64 {
	if s.refusal != "" {
		return max(s.rejected, s.failed)
	}
	return s.rejected
}

func (s situation) notToAll() verdict {
	v := verdict{warn, "Issuing, not to all", "", count(s.withoutID(), "request") + " in the last 10 s got no ID.", "uidringrejectedtakes"}
	if s.refusal != "" && s.refusal != "no-lease" { // which is over, see noIDs
		why := s.reasonFor(s.refusal)
		v.More, v.Detail, v.Book = ": "+why.title, v.Detail+" "+why.detail, why.book
	}
	return v
}

// brief formats a duration of a verdict, in whole seconds or minutes.
func brief(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min", int(d.Minutes()))
}

// count formats n with a noun: "1 ID", "12345 IDs".
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
