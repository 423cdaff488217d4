// Package chart draws the pictures of the benchmark report as SVG: on an opaque white ground
// with a border, so that they look the same on a light page and on a dark one, with text that is
// readable at [Width].
package chart

import (
	"fmt"
	"html"
	"strings"
)

// Width is the width of a figure in pixels.
const Width = 860

const margin = 16.0

// A Figure is one picture: a plot below a title and a legend.
type Figure struct {
	Title, Subtitle string
	Keys            []Key // legend
	Left            int   // pixels for the title and the labels of Y
	Height          int   // of the plot in pixels
	X, Y            Axis
	Draw            func(p Plot)
	Caption         []string // lines
}

// A Key is an entry of the legend. Style selects the colour and, in a line chart, the dashes and
// the shape of the points.
type Key struct {
	Text  string
	Style int
	Mark  Mark
}

// A Mark is the symbol of a Key.
type Mark int

// Filled and Hollow stand for bars, Dot for a second value beside a bar, Line for a line with its
// points.
const (
	Filled Mark = iota
	Hollow
	Dot
	Line
)

const style = `<style>
text{font:13px "Liberation Sans",Arial,Helvetica,sans-serif;fill:#24292f}
.title{font-size:18px;font-weight:bold}
.note,.small{fill:#57606a}.small{font-size:11px}
.middle{text-anchor:middle}.end{text-anchor:end}.halo{paint-order:stroke;stroke:#fff;stroke-width:5px}
.grid{stroke:#e6e9ed}.axis{stroke:#57606a}.line{fill:none;stroke-width:2}
</style>
`

// SVG returns the file.
func (f Figure) SVG() string {
	const top = 100.0
	height := top + float64(f.Height) + 24 + 15*float64(len(f.Caption))
	var s svg
	s.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %[1]d %.0[2]f">`, Width, height)
	s.WriteString(style)
	s.add(`<rect x="0.5" y="0.5" width="%d" height="%.0f" fill="#fff" stroke="#d0d7de"/>`, Width-1, height-1)
	s.text(margin, 32, "title", f.Title)
	s.text(margin, 54, "note", f.Subtitle)
	f.legend(&s, 82)
	f.plot(&s, top)
	for i, line := range f.Caption {
		s.text(margin, height-12-15*float64(len(f.Caption)-1-i), "small", line)
	}
	s.add("</svg>")
	return s.String()
}

// legend draws the keys; widths are estimates.
func (f Figure) legend(s *svg, y float64) {
	x := margin
	for _, k := range f.Keys {
		switch k.Mark {
		case Filled, Hollow:
			s.bar(x, y-6, 20, 12, k.Style, k.Mark == Hollow)
		case Dot:
			s.dot(x+10, y)
		case Line:
			s.line(k.Style, [][2]float64{{x, y}, {x + 24, y}})
			s.point(k.Style, x+12, y)
		}
		s.text(x+30, y+4.5, "", k.Text)
		x += 48 + 6.8*float64(len(k.Text))
	}
}

// plot draws the axes and calls Draw.
func (f Figure) plot(s *svg, top float64) {
	p := Plot{s, f.X, f.Y, margin + float64(f.Left), Width - margin - 6, top, top + float64(f.Height) - 42}
	s.text((p.left+p.right)/2, p.bottom+40, "note middle", f.X.Title)
	if f.Y.Title != "" {
		s.add(`<g transform="translate(%.1f,%.1f) rotate(-90)">`, margin+11, (p.top+p.bottom)/2)
		s.text(0, 0, "note middle", f.Y.Title)
		s.add("</g>")
	}
	for _, t := range f.X.Ticks {
		at := p.x(t.At)
		if t.Label != "" {
			s.segment("grid", at, p.top, at, p.bottom)
		}
		s.segment("axis", at, p.bottom, at, p.bottom+6)
		s.text(at, p.bottom+20, "middle", t.Label)
	}
	for _, t := range f.Y.Ticks {
		at := p.y(t.At)
		if !f.Y.Names {
			if t.Label != "" {
				s.segment("grid", p.left, at, p.right, at)
			}
			s.segment("axis", p.left-6, at, p.left, at)
		}
		s.text(p.left-11, at+4.5, "end", t.Label)
	}
	s.segment("axis", p.left, p.bottom, p.right, p.bottom)
	if !f.Y.Names {
		s.segment("axis", p.left, p.top, p.left, p.bottom)
	}
	f.Draw(p)
}

// A Plot draws in a Figure; positions are in the units of its axes.
type Plot struct {
	svg                      *svg
	xAxis, yAxis             Axis
	left, right, top, bottom float64 // in pixels
}

func (p Plot) x(v float64) float64 { return p.left + p.xAxis.share(v)*(p.right-p.left) }
func (p Plot) y(v float64) float64 { return p.bottom - p.yAxis.share(v)*(p.bottom-p.top) }

// Line draws a line through points. It clips them to the axes.
func (p Plot) Line(style int, points [][2]float64) {
	at := make([][2]float64, len(points))
	for i, point := range points {
		at[i] = [2]float64{p.x(point[0]), p.y(point[1])}
	}
	p.svg.line(style, at)
	for _, point := range at {
		p.svg.point(style, point[0], point[1])
	}
}

// Bar draws a bar between from and to, at a height of 0.62 units of Y.
func (p Plot) Bar(from, to, y float64, style int, hollow bool) {
	left, top := p.x(min(from, to)), p.y(y+0.31)
	p.svg.bar(left, top, p.x(max(from, to))-left, p.y(y-0.31)-top, style, hollow)
}

// Dot draws a diamond.
func (p Plot) Dot(x, y float64) { p.svg.dot(p.x(x), p.y(y)) }

// Text writes a text that ends at the right edge.
func (p Plot) Text(y float64, text string) { p.svg.text(p.right, p.y(y)+4.5, "end halo", text) }

// Rule draws a dashed vertical line.
func (p Plot) Rule(x float64) {
	p.svg.add(`<path d="M%.1f,%.1fV%.1f" class="axis" stroke-dasharray="4 3"/>`, p.x(x), p.top, p.bottom)
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

func (s *svg) bar(x, y, width, height float64, style int, hollow bool) {
	fill := color(style)
	if hollow {
		fill = "#fff"
	}
	s.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" stroke="%s"/>`, x, y, max(width, 0), height, fill, color(style))
}

func (s *svg) dot(x, y float64) {
	s.add(`<path d="M0,-6.5L6.5,0L0,6.5L-6.5,0z" transform="translate(%.1f,%.1f)" fill="#24292f" stroke="#fff" stroke-width="2"/>`, x, y)
}

func (s *svg) line(style int, points [][2]float64) {
	dashes := [...]string{"none", "6 3", "2 2", "8 3 2 3"}
	var path strings.Builder
	for i, p := range points {
		fmt.Fprintf(&path, "%c%.1f,%.1f", "ML"[min(i, 1)], p[0], p[1])
	}
	s.add(`<path d="%s" class="line" stroke="%s" stroke-dasharray="%s"/>`, &path, color(style), dashes[style%len(dashes)])
}

// point draws a circle, square, diamond or triangle, filled for the first four styles.
func (s *svg) point(style int, x, y float64) {
	shapes := [...]string{"M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z", "M-3.5,-3.5h7v7h-7z", "M0,-5L5,0L0,5L-5,0z", "M0,-5L4.5,3.5h-9z"}
	fill := color(style)
	if style >= len(shapes) {
		fill = "#fff"
	}
	s.add(`<path d="%s" transform="translate(%.1f,%.1f)" fill="%s" stroke="%s"/>`, shapes[style%len(shapes)], x, y, fill, color(style))
}

// color returns one of seven colours that most colour-blind people can tell apart (Okabe and Ito,
// 2008).
func color(style int) string {
	list := [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c"}
	return list[style%len(list)]
}
