package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// An Axis is one side of a panel.
type Axis struct {
	Title    string // with the unit
	Log      bool
	Min, Max float64
	Ticks    []Tick
}

// A Tick is a place on an Axis. Those without a label are small.
type Tick struct {
	At    float64
	Label string
}

func (a Axis) apply(to *plot.Axis) {
	to.Tick.Label.Color = ink()
	to.Tick.Label.Font = labelStyle().Font
	to.Tick.LineStyle = draw.LineStyle{Color: dim(), Width: px}
	to.LineStyle = draw.LineStyle{Color: dim(), Width: px}
	to.Padding = 0
	to.Min, to.Max = a.Min, a.Max
	if a.Log {
		to.Scale = plot.LogScale{}
	}
	ticks := make(plot.ConstantTicks, len(a.Ticks))
	for i, t := range a.Ticks {
		ticks[i] = plot.Tick{Value: t.At, Label: t.Label}
	}
	to.Tick.Marker = ticks
}

// Decades returns the ticks of a logarithmic axis: powers of ten with labels, two and five times these as well where there is
// room for them, and the rest without.
func Decades(least, most float64, label func(float64) string) (ticks []Tick) {
	roomy := most/least <= 300
	for power := math.Floor(math.Log10(least)); power <= math.Ceil(math.Log10(most)); power++ {
		for digit := 1.0; digit < 10; digit++ {
			at := digit * math.Pow(10, power)
			if at < least*(1-1e-9) || at > most*(1+1e-9) {
				continue
			}
			text := ""
			if digit == 1 || roomy && (digit == 2 || digit == 5) {
				text = label(at)
			}
			ticks = append(ticks, Tick{at, text})
		}
	}
	return ticks
}

// Around returns the nearest numbers of the form 1, 2 or 5 times a power of ten that are not above least and not below most.
func Around(least, most float64) (from, to float64) {
	from, to = math.Pow(10, math.Floor(math.Log10(least))), math.Pow(10, math.Ceil(math.Log10(most)))
	for _, digit := range [...]float64{5, 2} {
		if from*digit <= least {
			from *= digit
			break
		}
	}
	for _, part := range [...]float64{5, 2} {
		if to/part >= most {
			to /= part
			break
		}
	}
	if to <= from { // all is one number
		to = 10 * from
	}
	return from, to
}

// Duration writes nanoseconds for a tick: 10 ns, 1 µs, 100 ms.
func Duration(ns float64) string {
	unit := "ns"
	for _, next := range [...]string{"µs", "ms", "s"} {
		if ns < 1000*(1-1e-9) {
			break
		}
		ns, unit = ns/1000, next
	}
	return strconv.FormatFloat(math.Round(ns*1e9)/1e9, 'f', -1, 64) + " " + unit
}

// grid draws lines through the labelled ticks.
type grid struct{ x, y bool }

func (g grid) Plot(c draw.Canvas, p *plot.Plot) {
	style := draw.LineStyle{Color: gridGrey(), Width: px}
	x, y := p.Transforms(&c)
	through := func(axis *plot.Axis, stroke func(at float64)) {
		for _, t := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
			if t.Label != "" && t.Value >= axis.Min && t.Value <= axis.Max {
				stroke(t.Value)
			}
		}
	}
	if g.x {
		through(&p.X, func(at float64) { c.StrokeLine2(style, x(at), c.Min.Y, x(at), c.Max.Y) })
	}
	if g.y {
		through(&p.Y, func(at float64) { c.StrokeLine2(style, c.Min.X, y(at), c.Max.X, y(at)) })
	}
}

// vertical draws a dashed line at x.
type vertical struct{ x float64 }

func (v vertical) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: dim(), Width: px, Dashes: []vg.Length{4 * px, 3 * px}}, x(v.x), c.Min.Y, x(v.x), c.Max.Y)
}
