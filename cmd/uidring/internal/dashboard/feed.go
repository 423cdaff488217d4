package dashboard

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/segments"
)

// A feed reads the generator once per interval for all viewers. It has no goroutine: the first
// viewer of an interval reads the generator, and the others get the same reading. Without viewers
// there are no readings.
type feed struct {
	stats    func() cached.Stats
	segments *segments.Set
	interval time.Duration

	mu   sync.Mutex // held while a reading is taken
	last *reading
}

// A reading is immutable.
type reading struct {
	at     time.Time
	issued int64
	event  []byte // in the form that viewers get
}

// due returns the time of the next reading.
func (f *feed) due(r *reading) time.Time { return r.at.Add(f.interval) }

// latest returns the reading of this interval.
func (f *feed) latest() *reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil || !time.Now().Before(f.due(f.last)) {
		f.last = f.read()
	}
	return f.last
}

func (f *feed) read() *reading {
	s := f.stats()
	r := &reading{at: time.Now(), issued: s.Issued}
	values := newStats(s, r.at)
	// After a pause without viewers, the rate would be a mean over the pause, and look like the
	// present rate.
	if f.last != nil && r.at.Sub(f.last.at) < 3*f.interval {
		rate := float64(r.issued-f.last.issued) / r.at.Sub(f.last.at).Seconds()
		values.Rate = &rate
	}
	for _, s := range f.segments.All() {
		values.Segments = append(values.Segments, newSegment(s.Stats()))
	}
	r.event = event("stats", values)
	return r
}

// stats is the event "stats". Integers are strings, since JavaScript rounds numbers above 2^53;
// durations are in seconds.
type stats struct {
	Time         float64  `json:"time"` // seconds since 1970
	Rate         *float64 `json:"rate"` // IDs per second; null in a first reading
	WorkerID     int64    `json:"worker,string"`
	DatacenterID int64    `json:"datacenter,string"`
	Guarantee    string   `json:"guarantee"`
	Window       *float64 `json:"window"`      // null without a fence
	WindowLasts  *float64 `json:"windowLasts"` // null without a fence

	Capacity      int   `json:"capacity,string"`
	Remaining     int   `json:"remaining,string"`
	Issued        int64 `json:"issued,string"`
	Retired       int64 `json:"retired,string"`
	PaddingPasses int64 `json:"paddingPasses,string"`
	InlinePads    int64 `json:"inlinePads,string"`
	RejectedTakes int64 `json:"rejectedTakes,string"`
	RejectedPuts  int64 `json:"rejectedPuts,string"`
	Renewals      int64 `json:"renewals,string"`
	RenewFailures int64 `json:"renewFailures,string"`

	LastDelta int64   `json:"lastDelta,string"`
	Ahead     float64 `json:"ahead"`
	Expiring  bool    `json:"expiring"`

	Segments []segmentStats `json:"segments,omitempty"`
}

type segmentStats struct {
	Name   string `json:"name"`
	Last   int64  `json:"last,string"` // 0: none yet
	Ranges int    `json:"ranges"`
	Step   int64  `json:"step,string"`
}

func newSegment(s segments.Stats) segmentStats {
	return segmentStats{s.Name, s.Last, s.Ranges, s.Step}
}

func newStats(s cached.Stats, at time.Time) *stats {
	values := &stats{
		Time:          float64(at.UnixMilli()) / 1000,
		WorkerID:      s.WorkerID,
		DatacenterID:  s.DatacenterID,
		Guarantee:     s.Guarantee.String(),
		Capacity:      s.Capacity,
		Remaining:     s.Remaining,
		Issued:        s.Issued,
		Retired:       s.Retired,
		PaddingPasses: s.PaddingPasses,
		InlinePads:    s.InlinePads,
		RejectedTakes: s.RejectedTakes,
		RejectedPuts:  s.RejectedPuts,
		Renewals:      s.Renewals,
		RenewFailures: s.RenewFailures,
		LastDelta:     s.LastDelta,
		Ahead:         s.Ahead.Seconds(),
		Expiring:      s.Expiring,
	}
	if s.Limit != assigner.Unlimited {
		window, lasts := s.Window.Seconds(), s.WindowLasts.Seconds()
		values.Window, values.WindowLasts = &window, &lasts
	}
	return values
}

// about is the event "about": values that do not change while the program runs. Durations are in
// seconds.
type about struct {
	Version   string      `json:"version"`
	Store     string      `json:"store"`
	Layout    aboutLayout `json:"layout"`
	Epoch     time.Time   `json:"epoch"`
	Expires   time.Time   `json:"expires"` // when the delta field is used up at the pace of the clock
	Interval  float64     `json:"interval"`
	Heartbeat float64     `json:"heartbeat"` // the stream is never silent for longer
}

type aboutLayout struct {
	Delta      uint8   `json:"delta"`
	Datacenter uint8   `json:"datacenter"`
	Worker     uint8   `json:"worker"`
	Sequence   uint8   `json:"sequence"`
	Unit       float64 `json:"unit"`
}

func newAbout(cfg Config) *about {
	return &about{
		Version:   cfg.Version,
		Store:     cfg.StoreName,
		Layout:    newLayout(cfg.Allocator.Layout()),
		Epoch:     cfg.Allocator.Epoch(),
		Expires:   cfg.Allocator.Expires(),
		Interval:  cfg.Interval.Seconds(),
		Heartbeat: heartbeat.Seconds(),
	}
}

func newLayout(l bitsalloc.Layout) aboutLayout {
	return aboutLayout{l.DeltaBits, l.DatacenterBits, l.WorkerBits, l.SequenceBits, l.Unit.Seconds()}
}

// event is a server-sent event. JSON has no line breaks, so that its data is one line.
func event(name string, data any) []byte {
	text, err := json.Marshal(data)
	if err != nil {
		panic(fmt.Sprintf("bug: dashboard: event %s: %v", name, err)) // no field above can fail, and no float is infinite
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, text)
}
