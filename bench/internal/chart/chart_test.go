package chart

import (
	"encoding/xml"
	"slices"
	"strings"
	"testing"
)

// example has a mark of each kind.
func example() Figure {
	return Figure{
		Title: "A title", Subtitle: "and <its> meaning", Height: 200, Left: 100, Caption: []string{"how & where"},
		Keys: []Key{{"bar", 0, Filled}, {"capped", 1, Hollow}, {"more", 0, Dot}, {"first", 0, Line}},
		X:    Times("time", 5, 100), Y: Names("", []string{"short", "tall"}),
		Draw: func(p Plot) {
			p.Line(0, [][2]float64{{1, 0}, {10, 1}, {1e9, 1}})
			p.Line(2, nil)
			p.Rule(10)
			p.Bar(0.5, 10, 0, 0, false)
			p.Bar(50, 10, 1, 1, true)
			p.Dot(80, 1)
			p.Text(1, "50 ns")
		},
	}
}

func TestFigureHasItsTextsAndStaysInsideItsFrame(t *testing.T) {
	var file struct {
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
		Texts  []struct {
			X    float64 `xml:"x,attr"`
			Y    float64 `xml:"y,attr"`
			Text string  `xml:",chardata"`
		} `xml:"text"`
		Rects []struct {
			X      float64 `xml:"x,attr"`
			Y      float64 `xml:"y,attr"`
			Width  float64 `xml:"width,attr"`
			Height float64 `xml:"height,attr"`
			Fill   string  `xml:"fill,attr"`
		} `xml:"rect"`
	}
	svg := example().SVG()
	if err := xml.Unmarshal([]byte(svg), &file); err != nil {
		t.Fatal(err)
	}
	if file.Width != Width || file.Height < 200 || file.Rects[0].Width != Width-1 || file.Rects[0].Fill != "#fff" {
		t.Errorf("%v × %v, ground %+v", file.Width, file.Height, file.Rects[0])
	}
	var texts []string
	for _, text := range file.Texts {
		texts = append(texts, text.Text)
		if text.X < 0 || text.X > file.Width || text.Y < 0 || text.Y > file.Height {
			t.Errorf("%q at %v, %v is outside", text.Text, text.X, text.Y)
		}
	}
	for _, want := range []string{"A title", "and <its> meaning", "how & where", "first", "time", "10 ns", "short", "50 ns"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no text %q in %q", want, texts)
		}
	}
	for _, r := range file.Rects {
		if r.X < 0 || r.X+r.Width > file.Width || r.Y < 0 || r.Y+r.Height > file.Height || r.Height <= 0 {
			t.Errorf("rectangle %+v is outside", r)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("a position is no number")
	}
}

func TestDecadesHaveLabelsWhereThereIsRoom(t *testing.T) {
	for _, tt := range []struct {
		least, most float64
		ticks       int
		labels      string
	}{
		{0.6, 10, 14, "1 ns, 2 ns, 5 ns, 10 ns"},
		{100, 1e6, 37, "100 ns, 1 µs, 10 µs, 100 µs, 1 ms"},
		{2e8, 2e9, 10, "200 ms, 500 ms, 1 s, 2 s"},
	} {
		var labels []string
		ticks := Decades(tt.least, tt.most)
		for _, tick := range ticks {
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if len(ticks) != tt.ticks || strings.Join(labels, ", ") != tt.labels {
			t.Errorf("%v to %v: %d ticks, %q; want %+v", tt.least, tt.most, len(ticks), labels, tt)
		}
	}
}
