package chart

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Lines are series over an axis. Their legend is that of the figure, see [Keys].
type Lines struct {
	Title  string
	X, Y   Axis
	Series []Series
}

// A Series is a line through points.
type Series struct {
	Name   string
	Color  color.Color
	Style  int // dashes and shape of the points
	Points []Point
}

// A Point is one of a Series.
type Point struct{ X, Y float64 }

// Keys returns the legend of series.
func Keys(series []Series) (keys []Key) {
	for _, s := range series {
		keys = append(keys, Key{Text: s.Name, Color: s.Color, Mark: Line, Style: s.Style})
	}
	return keys
}

func (l Lines) draw(c draw.Canvas) {
	drawPlot(c, l.Title, l.X, l.Y, func(p *plot.Plot) { p.Add(grid{x: true, y: true}, l) })
}

// Plot draws the series.
func (l Lines) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, s := range l.Series {
		points := make([]vg.Point, len(s.Points))
		for i, at := range s.Points {
			points[i] = vg.Point{X: x(at.X), Y: y(min(max(at.Y, p.Y.Min), p.Y.Max))}
		}
		c.StrokeLines(seriesLine(s.Color, s.Style), points)
		for _, at := range points {
			c.DrawGlyphNoClip(seriesGlyph(s.Color, s.Style), at)
		}
	}
}
