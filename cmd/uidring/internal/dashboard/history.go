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
}

// A history has the points of the last 15 minutes, oldest first.
type history []point

// add adds a point. It drops points that are too old, or of a time that comes again because the
// clock was set back.
func (h history) add(p point) history {
	return append(slices.DeleteFunc(h, func(old point) bool {
		return old.Time >= p.Time || old.Time <= p.Time-number(kept.Seconds())
	}), p)
}
