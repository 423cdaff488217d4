// Package chart draws the pictures of the benchmark report: each as SVG and as PNG, on an opaque white ground with a border, so that
// they read the same on a light page and on a dark one, and with text that is readable at [Width].
package chart

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

const (
	// Width is how wide a figure is shown, in pixels of 1/96 inch.
	Width = 860
	// Density is how many pixels a PNG has for each of Width and Height.
	Density = 2

	px     = vg.Length(0.75) // in points
	margin = 14 * px
	dpi    = 96 * Density
)

// A Figure is one picture.
type Figure struct {
	Title    string
	Subtitle string
	Keys     []Key     // legend, above the panels
	Panels   [][]Panel // rows from top to bottom
	Height   int       // in pixels of 1/96 inch
	Caption  []string  // lines below the panels
}

// A Panel is a plot in a Figure.
type Panel interface{ draw(c draw.Canvas) }

// A Key is an entry of the legend.
type Key struct {
	Text  string
	Color color.Color
	Mark  Mark
	Style int // of a Line, as Series.Style
}

// A Mark is how an entry of the legend looks.
type Mark int

// Filled and Hollow stand for bars, Dot for a mark beside a bar, Line for a line with the shape of its points.
const (
	Filled Mark = iota
	Hollow
	Dot
	Line
)

// Save writes the figure to dir as name.svg and name.png.
func (f Figure) Save(dir, name string) error {
	w, h := Width*px, vg.Length(f.Height)*px
	svg := newSVG(w, h)
	f.draw(draw.New(svg))
	png := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(dpi))}
	f.draw(draw.New(png))

	text, err := svg.text()
	if err != nil {
		return fmt.Errorf("chart %s: %w", name, err)
	}
	var image bytes.Buffer
	if _, err := png.WriteTo(&image); err != nil {
		return fmt.Errorf("chart %s: %w", name, err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path+".svg", text, 0o644); err != nil {
		return err
	}
	return os.WriteFile(path+".png", image.Bytes(), 0o644)
}

func (f Figure) draw(c draw.Canvas) {
	fill(&c, c.Rectangle, color.White)
	frame(&c, c.Rectangle, border())
	c = draw.Crop(c, margin, -margin, margin, -margin)

	top := c.Max.Y
	top = line(&c, titleStyle(), top, f.Title)
	if f.Subtitle != "" {
		top = line(&c, noteStyle(), top, f.Subtitle)
	}
	if len(f.Keys) > 0 {
		top = legend(&c, f.Keys, top-4*px)
	}
	bottom := c.Min.Y
	for i := len(f.Caption) - 1; i >= 0; i-- {
		style := captionStyle()
		style.YAlign = draw.YBottom
		c.FillText(style, vg.Point{X: c.Min.X, Y: bottom}, f.Caption[i])
		bottom += style.Height(f.Caption[i]) + 2*px
	}
	f.drawPanels(draw.Crop(c, 0, 0, bottom-c.Min.Y+8*px, top-c.Max.Y-8*px))
}

func (f Figure) drawPanels(c draw.Canvas) {
	rows := vg.Length(len(f.Panels))
	const gap = 16 * px
	height := (c.Max.Y - c.Min.Y - (rows-1)*gap) / rows
	for i, row := range f.Panels {
		columns := vg.Length(len(row))
		width := (c.Max.X - c.Min.X - (columns-1)*gap) / columns
		for k, panel := range row {
			left := vg.Length(k) * (width + gap)
			above := vg.Length(i) * (height + gap)
			panel.draw(draw.Crop(c, left, left+width-(c.Max.X-c.Min.X), c.Max.Y-c.Min.Y-above-height, -above))
		}
	}
}

// line writes a line of text below top and returns where the next begins.
func line(c *draw.Canvas, style draw.TextStyle, top vg.Length, text string) vg.Length {
	style.YAlign = draw.YTop
	c.FillText(style, vg.Point{X: c.Min.X, Y: top}, text)
	return top - style.Height(text) - 5*px
}

// legend draws the keys below top, in as many lines as they need, and returns where these end.
func legend(c *draw.Canvas, keys []Key, top vg.Length) vg.Length {
	style := labelStyle()
	const swatch, pitch = 20 * px, 20 * px
	x, y := c.Min.X, top-pitch/2
	for _, k := range keys {
		width := swatch + 6*px + style.Width(k.Text) + 18*px
		if x+width > c.Max.X && x > c.Min.X {
			x, y = c.Min.X, y-pitch
		}
		k.draw(c, vg.Rectangle{Min: vg.Point{X: x, Y: y - 6*px}, Max: vg.Point{X: x + swatch, Y: y + 6*px}})
		fillMiddle(c, style, vg.Point{X: x + swatch + 6*px, Y: y}, k.Text)
		x += width
	}
	return y - pitch/2
}

func (k Key) draw(c *draw.Canvas, r vg.Rectangle) {
	middle := vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
	switch k.Mark {
	case Filled:
		fill(c, r, k.Color)
	case Hollow:
		frame(c, r, k.Color)
	case Dot:
		c.DrawGlyph(draw.GlyphStyle{Color: k.Color, Radius: 4 * px, Shape: diamond{}}, middle)
	case Line:
		c.StrokeLine2(seriesLine(k.Color, k.Style), r.Min.X, middle.Y, r.Max.X, middle.Y)
		c.DrawGlyph(seriesGlyph(k.Color, k.Style), middle)
	}
}

// Wrap breaks text into lines of at most so many characters, at spaces.
func Wrap(text string, most int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > most {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
