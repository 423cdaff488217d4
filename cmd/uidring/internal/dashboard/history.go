package dashboard

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// kept is the time that a history covers.
const kept = 15 * time.Minute

// A number is a value of a chart. NaN, null in JSON, is no value.
type number float64

func none() number { return number(math.NaN()) }

// MarshalJSON writes at most six decimals.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, math.Round(float64(n)*1e6)/1e6, 'f', -1, 64), nil
}

// A point has the values that charts show of one reading.
type point struct {
	Time        number `json:"time"`        // seconds since 1970
	Rate        number `json:"rate"`        // IDs per second; null in a first reading
	Fill        number `json:"fill"`        // percent of the ring
	Ahead       number `json:"ahead"`       // seconds
	WindowLasts number `json:"windowLasts"` // seconds; null without a fence
	Requests    number `json:"requests"`    // per second, of /v1; null in a first reading
	Refused     number `json:"refused"`     // of them with status 4xx
	Failed      number `json:"failed"`      // of them with status 5xx
	P99         number `json:"p99"`         // seconds, of the last ten seconds; null without requests
}

// A history has the points of the last 15 minutes, oldest first, as one column per value.
type history struct {
	Time        []number `json:"time"`
	Rate        []number `json:"rate"`
	Fill        []number `json:"fill"`
	Ahead       []number `json:"ahead"`
	WindowLasts []number `json:"windowLasts"`
	Requests    []number `json:"requests"`
	Refused     []number `json:"refused"`
	Failed      []number `json:"failed"`
	P99         []number `json:"p99"`
}

// add drops points that are too old, or of a time that comes again because the clock was set back.
func (h *history) add(p point) {
	old := 0
	for old < len(h.Time) && h.Time[old] <= p.Time-number(kept.Seconds()) {
		old++
	}
	end := len(h.Time)
	for end > old && h.Time[end-1] >= p.Time {
		end--
	}
	values := []number{p.Time, p.Rate, p.Fill, p.Ahead, p.WindowLasts, p.Requests, p.Refused, p.Failed, p.P99}
	for i, column := range []*[]number{&h.Time, &h.Rate, &h.Fill, &h.Ahead, &h.WindowLasts, &h.Requests, &h.Refused, &h.Failed, &h.P99} {
		*column = append(slices.Delete((*column)[:end], 0, old), values[i])
	}
}
