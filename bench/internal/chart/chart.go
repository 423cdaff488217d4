// Package chart draws the pictures of the benchmark report as SVG: on an opaque white ground with a
// border, so that they look the same on a light page and on a dark one, with text that is readable
// at [Width].
package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Width is the width of a figure in pixels.
const Width = 860

const margin, gap = 16.0, 20.0

// A Figure is one picture.
type Figure struct {
	Title, Subtitle string
	Keys            []Key // legend, above the panels
	Panels          []Panel
	Columns         int // panels side by side
	PanelHeight     int // in pixels
	Caption         string
}

// A Panel is a plot in a Figure.
type Panel struct {
	Title string
	Left  int // pixels for the title and the labels of Y
	X, Y  Axis
	Draw  func(p Plot)
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
.title{font-size:18px;font-weight:bold}.panel{font-weight:bold}
.note,.small{fill:#57606a}.small{font-size:11px}.light{fill:#fff}
.middle{text-anchor:middle}.end{text-anchor:end}.halo{paint-order:stroke;stroke:#fff;stroke-width:5px}
.grid{stroke:#e6e9ed}.axis{stroke:#57606a}.line{fill:none;stroke-width:2}
</style>
`

// SVG returns the file.
func (f Figure) SVG() string {
	rows := (len(f.Panels) + f.Columns - 1) / f.Columns
	caption := wrap(f.Caption, 140)
	legend := f.legend(82)
	top := 66.0 + 24*float64(strings.Count(legend, "\n<!--row-->"))
	if len(f.Keys) > 0 {
		top += 34
	}
	height := top + float64(rows)*(float64(f.PanelHeight)+gap) + 15*float64(len(caption)) + 4

	var s svg
	s.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %[1]d %.0[2]f">`, Width, height)
	s.WriteString(style)
	s.add(`<rect x="0.5" y="0.5" width="%d" height="%.0f" fill="#fff" stroke="#d0d7de"/>`, Width-1, height-1)
	s.text(margin, 32, "title", f.Title)
	s.text(margin, 54, "note", f.Subtitle)
	s.WriteString(legend)
	width := (Width - 2*margin + gap) / float64(f.Columns)
	for i, p := range f.Panels {
		left, above := float64(i%f.Columns)*width, float64(i/f.Columns)*(float64(f.PanelHeight)+gap)
		p.draw(&s, margin+left, top+above, width-gap, float64(f.PanelHeight))
	}
	for i, line := range caption {
		s.text(margin, height-12-15*float64(len(caption)-1-i), "small", line)
	}
	s.add("</svg>")
	return s.String()
}

// legend returns the keys, in as many rows as they need; widths are estimates.
func (f Figure) legend(y float64) string {
	var s svg
	x := margin
	for _, k := range f.Keys {
		width := 48 + 6.8*float64(len(k.Text))
		if x+width > Width && x > margin {
			s.add("<!--row-->")
			x, y = margin, y+24
		}
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
		x += width
	}
	return s.String()
}

func (p Panel) draw(s *svg, left, top, width, height float64) {
	plot := Plot{s, p.X, p.Y, left + float64(p.Left), left + width - 6, top + 30, top + height - 42}
	if p.Title == "" {
		plot.top = top
	}
	x, y := (plot.left+plot.right)/2, (plot.top+plot.bottom)/2
	s.text(x, top+15, "panel middle", p.Title)
	s.text(x, top+height-2, "note middle", p.X.Title)
	if p.Y.Title != "" {
		s.add(`<g transform="translate(%.1f,%.1f) rotate(-90)">`, left+11, y)
		s.text(0, 0, "note middle", p.Y.Title)
		s.add("</g>")
	}
	for _, t := range p.X.Ticks {
		at := plot.x(t.At)
		if !p.X.Names {
			if t.Label != "" {
				s.segment("grid", at, plot.top, at, plot.bottom)
			}
			s.segment("axis", at, plot.bottom, at, plot.bottom+t.length())
		}
		class := "middle"
		if p.X.Small {
			class += " small"
		}
		s.text(at, plot.bottom+20, class, t.Label)
	}
	for _, t := range p.Y.Ticks {
		at := plot.y(t.At)
		if !p.Y.Names {
			if t.Label != "" {
				s.segment("grid", plot.left, at, plot.right, at)
			}
			s.segment("axis", plot.left-t.length(), at, plot.left, at)
		}
		s.text(plot.left-11, at+4.5, "end", t.Label)
	}
	if !p.X.Names {
		s.segment("axis", plot.left, plot.bottom, plot.right, plot.bottom)
	}
	if !p.Y.Names {
		s.segment("axis", plot.left, plot.top, plot.left, plot.bottom)
	}
	p.Draw(plot)
}

// A Plot draws in a Panel; positions are in the units of its axes.
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

// Cell draws a cell of a heat map of one unit each way, with a text; shade is from 0, almost white,
// to 1, dark blue.
func (p Plot) Cell(x, y, shade float64, text string) {
	mix := func(light, dark float64) int { return int(math.Round(light + (dark-light)*shade)) }
	left, top := p.x(x-0.5)+1, p.y(y+0.5)+1
	p.svg.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#%02x%02x%02x"/>`, left, top, p.x(x+0.5)-1-left, p.y(y-0.5)-1-top,
		mix(0xee, 0x08), mix(0xf5, 0x30), mix(0xfc, 0x6b))
	class := "middle"
	if shade > 0.45 {
		class += " light"
	}
	p.svg.text(p.x(x), p.y(y)+4.5, class, text)
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

// wrap breaks text into lines of at most the given number of bytes, at spaces.
func wrap(text string, most int) (lines []string) {
	for word := range strings.FieldsSeq(text) {
		if n := len(lines) - 1; n >= 0 && len(lines[n])+1+len(word) <= most {
			lines[n] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
