package chart

import (
	"image/color"
	"math"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func ink() color.Color      { return color.RGBA{R: 0x24, G: 0x29, B: 0x2f, A: 0xff} }
func dim() color.Color      { return color.RGBA{R: 0x57, G: 0x60, B: 0x6a, A: 0xff} }
func border() color.Color   { return color.RGBA{R: 0xd0, G: 0xd7, B: 0xde, A: 0xff} }
func gridGrey() color.Color { return color.RGBA{R: 0xe6, G: 0xe9, B: 0xed, A: 0xff} }

// Color returns the i-th of eight colours that most colour-blind people can tell apart (Okabe and Ito, 2008; the yellow
// one darker, since the ground is white).
func Color(i int) color.Color {
	list := [...]color.RGBA{
		{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, // blue
		{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff}, // vermilion
		{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, // green
		{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}, // purple
		{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}, // orange
		{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff}, // sky
		{R: 0x8c, G: 0x8c, B: 0x8c, A: 0xff}, // grey
		{R: 0xa8, G: 0x8f, B: 0x00, A: 0xff}, // dark yellow
	}
	return list[i%len(list)]
}

func textStyle(size vg.Length, weight stdfont.Weight, c color.Color) draw.TextStyle {
	return draw.TextStyle{
		Color:   c,
		Font:    font.From(font.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight}, size),
		Handler: plot.DefaultTextHandler,
	}
}

func titleStyle() draw.TextStyle   { return textStyle(18*px, stdfont.WeightBold, ink()) }
func panelStyle() draw.TextStyle   { return textStyle(14*px, stdfont.WeightBold, ink()) }
func labelStyle() draw.TextStyle   { return textStyle(13*px, stdfont.WeightNormal, ink()) }
func noteStyle() draw.TextStyle    { return textStyle(13*px, stdfont.WeightNormal, dim()) }
func captionStyle() draw.TextStyle { return textStyle(11*px, stdfont.WeightNormal, dim()) }

// drawPlot draws a panel. The titles of the axes are not left to gonum's, which reserves room for them as if all scales
// were linear.
func drawPlot(c draw.Canvas, title string, x, y Axis, prepare func(p *plot.Plot)) {
	p := plot.New()
	p.BackgroundColor = color.Transparent
	p.Title.Text = title
	p.Title.TextStyle.Color = ink()
	p.Title.TextStyle.Font = panelStyle().Font
	p.Title.Padding = 8 * px
	x.apply(&p.X)
	y.apply(&p.Y)
	prepare(p)

	style := noteStyle()
	style.XAlign = draw.XCenter
	const strip = 20 * px
	inner := c
	if x.Title != "" {
		inner = draw.Crop(inner, 0, 0, strip, 0)
	}
	if y.Title != "" {
		inner = draw.Crop(inner, strip, 0, 0, 0)
	}
	p.Draw(inner)
	data := p.DataCanvas(inner)
	if x.Title != "" {
		style.YAlign = draw.YBottom
		c.FillText(style, vg.Point{X: data.Center().X, Y: c.Min.Y}, x.Title)
	}
	if y.Title != "" {
		style.YAlign, style.Rotation = draw.YTop, math.Pi/2
		c.FillText(style, vg.Point{X: c.Min.X, Y: data.Center().Y}, y.Title)
	}
}

// fillMiddle writes a text whose digits and capitals have their middle at a height.
func fillMiddle(c *draw.Canvas, style draw.TextStyle, at vg.Point, text string) {
	style.YAlign = draw.YCenter
	at.Y += 1.8 * px
	c.FillText(style, at, text)
}

func fill(c *draw.Canvas, r vg.Rectangle, clr color.Color) {
	c.FillPolygon(clr, []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}})
}

// frame draws the border of r, inside.
func frame(c *draw.Canvas, r vg.Rectangle, clr color.Color) {
	const half = px / 2
	a, b := vg.Point{X: r.Min.X + half, Y: r.Min.Y + half}, vg.Point{X: r.Max.X - half, Y: r.Max.Y - half}
	c.StrokeLines(draw.LineStyle{Color: clr, Width: px},
		[]vg.Point{a, {X: b.X, Y: a.Y}, b, {X: a.X, Y: b.Y}, a, {X: b.X, Y: a.Y}})
}

// Series differ in colour, in the shape of their points and in the dashes of their lines.

func seriesLine(c color.Color, i int) draw.LineStyle {
	dashes := [...][]vg.Length{nil, {6 * px, 3 * px}, {2 * px, 2 * px}, {8 * px, 3 * px, 2 * px, 3 * px}}
	return draw.LineStyle{Color: c, Width: 2 * px, Dashes: dashes[i%len(dashes)]}
}

func seriesGlyph(c color.Color, i int) draw.GlyphStyle {
	shapes := [...]draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, diamond{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}}
	return draw.GlyphStyle{Color: c, Radius: 3.5 * px, Shape: shapes[i%len(shapes)]}
}

// diamond is a filled glyph that stands on a corner.
type diamond struct{}

func (diamond) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius * vg.Length(math.Sqrt2)
	c.FillPolygon(style.Color, []vg.Point{{X: at.X - r, Y: at.Y}, {X: at.X, Y: at.Y - r}, {X: at.X + r, Y: at.Y}, {X: at.X, Y: at.Y + r}})
}
