package chart

import (
	"math"
	"strconv"
)

// An Axis is one side of a panel.
type Axis struct {
	Title    string // with the unit
	Log      bool
	Min, Max float64
	Ticks    []Tick
	Names    bool // no line, marks and grid
}

// A Tick is a position on an Axis. It has a line of the grid if it has a label.
type Tick struct {
	At    float64
	Label string
}

// share returns the position of v on the axis: 0 at Min and below, 1 at Max and above.
func (a Axis) share(v float64) float64 {
	v = min(max(v, a.Min), a.Max)
	if a.Log {
		return math.Log(v/a.Min) / math.Log(a.Max/a.Min)
	}
	return (v - a.Min) / (a.Max - a.Min)
}

// Names returns an axis of names at 0, 1, 2 and so on.
func Names(title string, names []string) Axis {
	a := Axis{Title: title, Min: -0.5, Max: float64(len(names)) - 0.5, Names: true}
	for i, name := range names {
		a.Ticks = append(a.Ticks, Tick{float64(i), name})
	}
	return a
}

// Times returns a logarithmic axis of nanoseconds that includes least and most.
func Times(title string, least, most float64) Axis {
	a := Axis{Title: title, Log: true, Min: least * 0.8, Max: most * 1.25}
	a.Ticks = Decades(a.Min, a.Max)
	return a
}

// Decades returns the ticks of a logarithmic axis of nanoseconds. Powers of ten have labels; if
// there is room, two and five times a power of ten have them too.
func Decades(least, most float64) (ticks []Tick) {
	roomy := most/least <= 300
	for power := math.Pow(10, math.Floor(math.Log10(least))); power <= most; power *= 10 {
		for digit := 1.0; digit < 10; digit++ {
			at, label := digit*power, ""
			if at < least*(1-1e-9) || at > most*(1+1e-9) {
				continue
			}
			if digit == 1 || roomy && (digit == 2 || digit == 5) {
				label = duration(at)
			}
			ticks = append(ticks, Tick{at, label})
		}
	}
	return ticks
}

// duration writes nanoseconds with the unit that fits: 10 ns, 1 µs, 100 ms.
func duration(ns float64) string {
	unit := "ns"
	for _, next := range [...]string{"µs", "ms", "s"} {
		if ns < 1000*(1-1e-9) {
			break
		}
		ns, unit = ns/1000, next
	}
	return strconv.FormatFloat(math.Round(ns*1e9)/1e9, 'f', -1, 64) + " " + unit
}
