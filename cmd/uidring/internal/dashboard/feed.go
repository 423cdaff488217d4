package dashboard

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/segments"
)

// interval is the time from one reading to the next.
const interval = time.Second

// A feed reads the generator once per interval for all viewers: the first to ask in an interval
// reads the generator, and the others get the same reading.
type feed struct {
	cfg    Config
	limits limits

	mu     sync.Mutex // held while a reading is taken
	first  *reading   // with this worker ID
	last   *reading
	recent []*reading // of the last seconds, see recently; the oldest first
	dry    time.Time  // since then there are no IDs; zero: there are
	answer time.Time  // of the first reading with the last renewal or claim
}

// A reading is immutable.
type reading struct {
	at                        time.Time
	stats                     cached.Stats
	answered, refused, failed int64 // requests under /v1
	segments                  []segments.Stats
	event                     []byte // in the form that viewers get
}

// due returns the time of the next reading.
func (r *reading) due() time.Time { return r.at.Add(interval) }

// latest returns the reading of this interval.
func (f *feed) latest() *reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil || !time.Now().Before(f.last.due()) {
		f.read()
	}
	return f.last
}

func (f *feed) read() {
	r := &reading{at: time.Now(), stats: f.cfg.Stats()}
	r.answered, r.refused, r.failed = f.cfg.API.Traffic()
	for _, s := range f.cfg.Segments.All() {
		r.segments = append(r.segments, s.Stats())
	}
	values := newStats(r, f.last)
	values.Verdict = judge(f.situation(r))
	if values.Verdict.Title != notIssuing {
		f.dry = time.Time{}
	} else {
		if f.dry.IsZero() {
			f.dry = r.at
		}
		values.Verdict.Detail = "No IDs since " + f.dry.UTC().Format(time.TimeOnly) + " UTC. " + values.Verdict.Detail
	}
	r.event = event("stats", values)
	f.last = r
}

// situation compares a reading with the readings before it.
func (f *feed) situation(r *reading) situation {
	f.recent = append(f.recent, r)
	for len(f.recent) > 1 && r.at.Sub(f.recent[1].at) >= recently {
		f.recent = f.recent[1:]
	}
	before := f.recent[0]
	if f.first == nil || f.first.stats.WorkerID != r.stats.WorkerID {
		f.first = r
	}
	if f.last == nil || f.last.stats.Renewals != r.stats.Renewals || f.last.stats.LastGranted != r.stats.LastGranted {
		f.answer = r.at
	}
	s := situation{
		stats: r.stats, began: f.first.stats.Ahead - r.at.Sub(f.first.at), store: f.cfg.About.Store, outage: outage{f.answer, f.cfg.StoreCalls.failure()}, limits: f.limits,
		issued:   r.stats.Issued - before.stats.Issued,
		rejected: r.stats.RejectedTakes - before.stats.RejectedTakes,
		failed:   r.failed - before.failed,
		unready:  f.cfg.API.Unready(), refusal: f.cfg.API.Refusal(),
	}
	for _, each := range r.segments {
		if each.Remaining == 0 && failure(each) != nil {
			s.segments, s.segmentErr = append(s.segments, each.Name), failure(each)
		}
	}
	return s
}

// stats is the event "stats". Integers are strings, since JavaScript rounds numbers above 2^53;
// durations are in seconds.
type stats struct {
	Verdict     verdict `json:"verdict"`
	Time        number  `json:"time"`        // seconds since 1970
	Rate        number  `json:"rate"`        // IDs per second; null in a first reading
	Fill        number  `json:"fill"`        // percent of the ring
	Ahead       number  `json:"ahead"`       // seconds
	WindowLasts number  `json:"windowLasts"` // seconds; null without a fence
	Requests    number  `json:"requests"`    // per second, of /v1; null in a first reading
	Refused     number  `json:"refused"`     // of them with status 4xx
	Failed      number  `json:"failed"`      // of them with status 5xx

	WorkerID     int64  `json:"worker,string"`
	DatacenterID int64  `json:"datacenter,string"`
	Guarantee    string `json:"guarantee"`
	Window       number `json:"window"` // null without a fence

	Capacity  int   `json:"capacity,string"`
	Remaining int   `json:"remaining,string"`
	Issued    int64 `json:"issued,string"`
	Retired   int64 `json:"retired,string"`

	LastDelta int64 `json:"lastDelta,string"`

	Segments []segmentStats `json:"segments,omitempty"`
}

type segmentStats struct {
	Name      string `json:"name"`
	Last      int64  `json:"last,string"` // 0: none yet
	Remaining int64  `json:"remaining,string"`
	Step      int64  `json:"step,string"`
	Failing   bool   `json:"failing"` // the last call for a range failed
}

// failure returns the error of the last call for a range.
func failure(s segments.Stats) error {
	if len(s.Sources) == 0 {
		return nil
	}
	return s.Sources[0].Err
}

// newStats returns the values of a reading. Rates need a last reading. After a pause without
// readings, they would be means over the pause, and look like the present rates.
func newStats(r, last *reading) *stats {
	s := r.stats
	values := &stats{
		Time: seconds(r.at), Rate: none(), Fill: number(100 * float64(s.Remaining) / float64(s.Capacity)), Ahead: number(s.Ahead.Seconds()),
		WindowLasts: none(), Requests: none(), Refused: none(), Failed: none(), Window: none(),
		WorkerID: s.WorkerID, DatacenterID: s.DatacenterID, Guarantee: s.Guarantee.String(), LastDelta: s.LastDelta,
		Capacity: s.Capacity, Remaining: s.Remaining, Issued: s.Issued, Retired: s.Retired,
	}
	if last != nil && r.at.Sub(last.at) < 3*interval {
		perSecond := func(n int64) number { return number(math.Round(float64(n)/r.at.Sub(last.at).Seconds()*10) / 10) }
		values.Rate = perSecond(s.Issued - last.stats.Issued)
		values.Requests = perSecond(r.answered - last.answered)
		values.Refused = perSecond(r.refused - last.refused)
		values.Failed = perSecond(r.failed - last.failed)
	}
	if s.LastGranted != assigner.Unlimited {
		values.Window, values.WindowLasts = number(s.Window.Seconds()), number(s.WindowLasts.Seconds())
	}
	for _, each := range r.segments {
		values.Segments = append(values.Segments, segmentStats{each.Name, each.Last, each.Remaining, each.Step, failure(each) != nil})
	}
	return values
}

// about is the event "about": values that do not change while the program runs. Durations are in
// seconds.
type about struct {
	About
	Started number      `json:"started"` // seconds since 1970
	Layout  aboutLayout `json:"layout"`
	Epoch   time.Time   `json:"epoch"`
	Expires time.Time   `json:"expires"` // when the delta field is used up at the pace of the clock
	Limits  limits      `json:"limits"`
}

type aboutLayout struct {
	Delta      uint8   `json:"delta"`
	Datacenter uint8   `json:"datacenter"`
	Worker     uint8   `json:"worker"`
	Sequence   uint8   `json:"sequence"`
	Unit       float64 `json:"unit"`
}

func newAbout(cfg Config, started time.Time) about {
	l := cfg.Allocator.Layout()
	return about{
		About:   cfg.About,
		Started: seconds(started),
		Layout:  aboutLayout{l.DeltaBits, l.DatacenterBits, l.WorkerBits, l.SequenceBits, l.Unit.Seconds()},
		Epoch:   cfg.Allocator.Epoch(),
		Expires: cfg.Allocator.Expires(),
		Limits:  newLimits(cfg),
	}
}

// A number is a figure of the page. NaN, null in JSON, is no value.
type number float64

func none() number { return number(math.NaN()) }

// MarshalJSON writes at most six decimals.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, math.Round(float64(n)*1e6)/1e6, 'f', -1, 64), nil
}

func seconds(t time.Time) number { return number(float64(t.UnixMilli()) / 1000) }

// event is a server-sent event. JSON has no line breaks, so that its data is one line.
func event(name string, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("bug: dashboard: event %s: %v", name, err)) // no field above can fail, and no float is infinite
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, text)
}
