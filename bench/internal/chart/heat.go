package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat is a map of cells, each with its value as a text. Low values are light, high ones dark, on a logarithmic scale from
// Low to High, which maps that are compared share.
type Heat struct {
	Title          string
	XTitle, YTitle string
	XLabels        []string
	YLabels        []string // from bottom to top
	Values         [][]float64
	Low, High      float64
	Text           func(float64) string
}

func (h Heat) draw(c draw.Canvas) {
	drawPlot(c, h.Title, nominal(h.XTitle, h.XLabels), nominal(h.YTitle, h.YLabels), func(p *plot.Plot) {
		p.X.Tick.Length, p.Y.Tick.Length = 0, 0
		p.X.LineStyle.Width, p.Y.LineStyle.Width = 0, 0
		p.Add(h)
	})
}

// nominal is an axis of names at 0, 1, 2 and so on.
func nominal(title string, names []string) Axis {
	a := Axis{Title: title, Min: -0.5, Max: float64(len(names)) - 0.5}
	for i, name := range names {
		a.Ticks = append(a.Ticks, Tick{float64(i), name})
	}
	return a
}

// Plot draws the cells. Values[i][k] is that of the i-th Y label and the k-th X label.
func (h Heat) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := labelStyle()
	if len(h.XLabels) > 5 {
		style = captionStyle()
	}
	style.XAlign = draw.XCenter
	for i, row := range h.Values {
		for k, value := range row {
			r := vg.Rectangle{
				Min: vg.Point{X: x(float64(k)-0.5) + px, Y: y(float64(i)-0.5) + px},
				Max: vg.Point{X: x(float64(k)+0.5) - px, Y: y(float64(i)+0.5) - px},
			}
			share := h.share(value)
			fill(&c, r, shade(share))
			style.Color = ink()
			if share > 0.45 {
				style.Color = color.White
			}
			fillMiddle(&c, style, vg.Point{X: x(float64(k)), Y: y(float64(i))}, h.Text(value))
		}
	}
}

// share is where a value lies between Low and High, from 0 to 1.
func (h Heat) share(value float64) float64 {
	if value <= h.Low || h.High <= h.Low {
		return 0
	}
	return min(1, math.Log(value/h.Low)/math.Log(h.High/h.Low))
}

// shade is a blue, from almost white at 0 to dark at 1.
func shade(share float64) color.Color {
	light, dark := [3]float64{0xee, 0xf5, 0xfc}, [3]float64{0x08, 0x30, 0x6b}
	mix := func(i int) uint8 { return uint8(math.Round(light[i] + (dark[i]-light[i])*share)) }
	return color.RGBA{R: mix(0), G: mix(1), B: mix(2), A: 0xff}
}
