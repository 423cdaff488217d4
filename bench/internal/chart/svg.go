package chart

import (
	"bytes"
	"fmt"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// An svg is a canvas that remembers how wide its texts are. A figure is laid out with a font that not every machine
// has; in another one the texts are made as wide as they were meant to be.
type svg struct {
	*vgsvg.Canvas
	widths []vg.Length // of the texts, in their order
}

func newSVG(w, h vg.Length) *svg { return &svg{Canvas: vgsvg.New(w, h)} }

// FillString draws a text.
func (s *svg) FillString(face font.Face, at vg.Point, text string) {
	s.widths = append(s.widths, face.Width(text))
	s.Canvas.FillString(face, at, text)
}

// text returns the file.
func (s *svg) text() ([]byte, error) {
	var file, out bytes.Buffer
	if _, err := s.WriteTo(&file); err != nil {
		return nil, err
	}
	const element = "<text "
	parts := bytes.Split(file.Bytes(), []byte(element))
	if len(parts) != len(s.widths)+1 {
		return nil, fmt.Errorf("%d texts drawn, %d in the file", len(s.widths), len(parts)-1)
	}
	for i, part := range parts {
		if i > 0 {
			fmt.Fprintf(&out, `%stextLength="%.2f" lengthAdjust="spacingAndGlyphs" `, element, s.widths[i-1].Points())
		}
		out.Write(part)
	}
	const family = "font-family:Liberation Sans"
	return bytes.ReplaceAll(out.Bytes(), []byte(family), []byte(family+",Arial,Helvetica,sans-serif")), nil
}
