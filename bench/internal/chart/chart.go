// Package chart draws the pictures of bench as SVG: on an opaque white ground with a
// border, so that it looks the same on a light page and on a dark one.
package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uidring/uidring/bench/internal/report"
)

// A Figure has horizontal bars on a logarithmic scale of nanoseconds.
type Figure struct {
	Title, Subtitle string
	Scale           string  // title of the scale
	Keys            []Key   // legend
	Begin           float64 // of all bars, with a vertical line
	Bars            []Bar
	Caption         []string // lines
}

// A Bar leads from the begin of the figure to its end.
type Bar struct {
	Name, Text string // on the left and the right
	End        float64
	Dot        float64 // a second value; 0: none
	Style      Style
}

// A Key is an entry of the legend: a bar, or the dot.
type Key struct {
	Text  string
	Style Style
	Dot   bool
}

// A Style is the look of a bar. Choose colours that most colour-blind people can tell apart.
type Style struct {
	Color  string
	Hollow bool
}

// The positions in pixels.
const (
	width  = 860
	margin = 16.0
	left   = margin + 250 // of the bars
	right  = width - margin - 6
	top    = 100.0
	pitch  = 25.0 // of bars
	letter = 7.0  // about the width
)

const style = `<style>
text{font:13px "Liberation Sans",Arial,Helvetica,sans-serif;fill:#24292f}
.title{font-size:18px;font-weight:bold}
.note,.small{fill:#57606a}.small{font-size:11px}
.middle{text-anchor:middle}.end{text-anchor:end}
.grid{stroke:#e6e9ed}.axis{stroke:#57606a}
</style>
`

// SVG returns the file.
func (f Figure) SVG() string {
	bottom := top + pitch*float64(len(f.Bars))
	height := bottom + 69 + 15*float64(len(f.Caption))
	var s svg
	s.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %[1]d %.0[2]f">`, width, height)
	s.WriteString(style)
	s.add(`<rect x="0.5" y="0.5" width="%d" height="%.0f" fill="#fff" stroke="#d0d7de"/>`, width-1, height-1)
	s.text(margin, 32, "title", f.Title)
	s.text(margin, 54, "note", f.Subtitle)
	x := margin
	for _, k := range f.Keys {
		if k.Dot {
			s.dot(x+10, 82)
		} else {
			s.bar(x, 76, 20, 12, k.Style)
		}
		s.text(x+30, 86.5, "", k.Text)
		x += 54 + letter*float64(utf8.RuneCountInString(k.Text))
	}
	f.plot(&s, bottom)
	for i, line := range f.Caption {
		s.text(margin, height-12-15*float64(len(f.Caption)-1-i), "small", line)
	}
	s.add("</svg>")
	return s.String()
}

// plot draws the scale and the bars.
func (f Figure) plot(s *svg, bottom float64) {
	least, most, longest := math.Inf(1), f.Begin, 0
	for _, b := range f.Bars {
		least, most, longest = min(least, b.End), max(most, b.End, b.Dot), max(longest, utf8.RuneCountInString(b.Text))
		if b.Dot > 0 {
			least = min(least, b.Dot)
		}
	}
	least *= 0.72
	end := right - 12 - letter*float64(longest) // of the longest bar, before the texts
	x := func(ns float64) float64 {
		share := math.Log(ns/least) / math.Log(most/least)
		return left + max(share, 0)*(end-left)
	}
	s.text((left+right)/2, bottom+43, "note middle", f.Scale)
	for _, t := range ticks(least, most) {
		if t.label != "" {
			s.segment("grid", x(t.at), top, x(t.at), bottom)
		}
		s.segment("axis", x(t.at), bottom, x(t.at), bottom+6)
		s.text(x(t.at), bottom+20, "middle", t.label)
	}
	s.segment("axis", left, bottom, right, bottom)
	for i, b := range f.Bars {
		y := bottom - pitch*(float64(i)+0.5)
		from, to := x(min(f.Begin, b.End)), x(max(f.Begin, b.End))
		s.bar(from, y-0.31*pitch, to-from, 0.62*pitch, b.Style)
		if b.Dot > 0 {
			s.dot(x(b.Dot), y)
		}
		s.text(left-11, y+4.5, "end", b.Name)
		s.text(right, y+4.5, "end", b.Text)
	}
	s.add(`<path d="M%.1f,%.1fV%.1f" class="axis" stroke-dasharray="4 3"/>`, x(f.Begin), top, bottom)
}

// A tick is a place on the scale, with a line of the grid if it has a label.
type tick struct {
	at    float64
	label string
}

// ticks returns the places on a logarithmic scale of nanoseconds. Powers of ten have labels such as
// 10 ns, 1 µs and 100 ms; if there is room, two and five times a power of ten have them too.
func ticks(least, most float64) (all []tick) {
	roomy := most/least <= 300
	for power := math.Pow(10, math.Floor(math.Log10(least))); power <= most; power *= 10 {
		for digit := 1.0; digit < 10; digit++ {
			t := tick{at: digit * power}
			if digit == 1 || roomy && (digit == 2 || digit == 5) {
				n, unit := report.Scale(t.at)
				t.label = strconv.FormatFloat(math.Round(n*1e9)/1e9, 'f', -1, 64) + " " + unit
			}
			if t.at >= least && t.at <= most {
				all = append(all, t)
			}
		}
	}
	return all
}

// svg writes elements; coordinates are in pixels.
type svg struct{ strings.Builder }

func (s *svg) add(format string, args ...any) { fmt.Fprintf(s, format+"\n", args...) }

func (s *svg) text(x, y float64, class, text string) {
	if text != "" {
		s.add(`<text x="%.1f" y="%.1f" class="%s">%s</text>`, x, y, class, html.EscapeString(text))
	}
}

func (s *svg) segment(class string, x1, y1, x2, y2 float64) {
	s.add(`<path d="M%.1f,%.1fL%.1f,%.1f" class="%s"/>`, x1, y1, x2, y2, class)
}

func (s *svg) bar(x, y, width, height float64, style Style) {
	fill := style.Color
	if style.Hollow {
		fill = "#fff"
	}
	s.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" stroke="%s"/>`, x, y, width, height, fill, style.Color)
}

func (s *svg) dot(x, y float64) {
	s.add(`<path d="M0,-6.5L6.5,0L0,6.5L-6.5,0z" transform="translate(%.1f,%.1f)" fill="#24292f" stroke="#fff" stroke-width="2"/>`, x, y)
}
