package chart

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bars are horizontal, the first on top. X is where they begin and end; it has to leave room for the texts behind them.
type Bars struct {
	X         Axis
	Reference float64 // a dashed line there; 0: none
	Bars      []Bar
}

// A Bar has a name before it and a text behind it.
type Bar struct {
	Name   string
	Value  float64
	Second float64 // a mark there; 0: none
	Text   string
	Color  color.Color
	Hollow bool
}

// SecondKey returns the legend entry for Bar.Second.
func SecondKey(text string) Key { return Key{Text: text, Color: ink(), Mark: Dot} }

func (b Bars) draw(c draw.Canvas) {
	y := Axis{Min: -0.5, Max: float64(len(b.Bars)) - 0.5}
	for i, bar := range b.Bars {
		y.Ticks = append(y.Ticks, Tick{b.place(i), bar.Name})
	}
	drawPlot(c, "", b.X, y, func(p *plot.Plot) {
		p.Y.Tick.Length = 0
		p.Y.LineStyle.Width = 0
		p.Add(grid{x: true})
		if b.Reference > 0 {
			p.Add(vertical{b.Reference})
		}
		p.Add(b)
	})
}

func (b Bars) place(i int) float64 { return float64(len(b.Bars) - 1 - i) }

// Plot draws the bars.
func (b Bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	thick := (y(1) - y(0)) * 0.62
	style := labelStyle()
	for i, bar := range b.Bars {
		middle, end := y(b.place(i)), x(max(bar.Value, p.X.Min))
		r := vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: middle - thick/2}, Max: vg.Point{X: end, Y: middle + thick/2}}
		if bar.Hollow {
			fill(&c, r, color.White)
			frame(&c, r, bar.Color)
		} else {
			fill(&c, r, bar.Color)
		}
		if bar.Second > 0 {
			at := x(bar.Second)
			c.DrawGlyph(draw.GlyphStyle{Color: color.White, Radius: 5 * px, Shape: diamond{}}, vg.Point{X: at, Y: middle})
			c.DrawGlyph(draw.GlyphStyle{Color: ink(), Radius: 3.5 * px, Shape: diamond{}}, vg.Point{X: at, Y: middle})
			end = max(end, at+4*px)
		}
		at := vg.Point{X: end + 5*px, Y: middle}
		ground := vg.Rectangle{
			Min: vg.Point{X: at.X - 2*px, Y: middle - 7*px},
			Max: vg.Point{X: at.X + style.Width(bar.Text) + 2*px, Y: middle + 7*px},
		}
		fill(&c, ground, color.White) // no grid behind text
		fillMiddle(&c, style, at, bar.Text)
	}
}
