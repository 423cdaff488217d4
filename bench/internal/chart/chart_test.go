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
		Title: "A title", Subtitle: "and <its> meaning", Height: 200, Left: 100, Caption: "how & where",
		Keys: []Key{{"bar", 0, Filled}, {"capped", 1, Hollow}, {"more", 0, Dot}, {"first", 0, Line}, {strings.Repeat("long ", 30), 5, Line}},
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

func TestTimesEndAtRoundNumbersAndHaveLabelsWhereThereIsRoom(t *testing.T) {
	for _, tt := range []struct {
		least, most, from, to float64
		ticks                 int
		labels                string
	}{
		{1, 10, 1, 10, 10, "1 ns, 2 ns, 5 ns, 10 ns"},
		{7, 42, 5, 50, 10, "5 ns, 10 ns, 20 ns, 50 ns"},
		{1, 1000, 1, 1000, 28, "1 ns, 10 ns, 100 ns, 1 µs"},
		{0.6, 1.7, 0.5, 2, 7, "0.5 ns, 1 ns, 2 ns"},
		{100, 0.9e6, 100, 1e6, 37, "100 ns, 1 µs, 10 µs, 100 µs, 1 ms"},
		{5, 5, 5, 50, 10, "5 ns, 10 ns, 20 ns, 50 ns"},
		{0.03, 0.04, 0.02, 0.05, 4, "0.02 ns, 0.05 ns"},
		{2e8, 2e9, 2e8, 2e9, 10, "200 ms, 500 ms, 1 s, 2 s"},
	} {
		a := Times("", tt.least, tt.most)
		var labels []string
		for _, tick := range a.Ticks {
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if !near(a.Min, tt.from) || !near(a.Max, tt.to) || len(a.Ticks) != tt.ticks || strings.Join(labels, ", ") != tt.labels {
			t.Errorf("%v to %v: %v to %v, %d ticks, %q; want %+v", tt.least, tt.most, a.Min, a.Max, len(a.Ticks), labels, tt)
		}
	}
}

func near(a, b float64) bool { return a > b*(1-1e-9) && a < b*(1+1e-9) }

func TestPositionsAreSharesOfTheAxis(t *testing.T) {
	linear, log := Axis{Min: 10, Max: 20}, Axis{Log: true, Min: 1, Max: 100}
	for _, tt := range []struct {
		axis    Axis
		v, want float64
	}{{linear, 10, 0}, {linear, 15, 0.5}, {linear, 99, 1}, {log, 10, 0.5}, {log, 0, 0}, {log, 1e9, 1}} {
		if got := tt.axis.share(tt.v); got < tt.want-1e-12 || got > tt.want+1e-12 {
			t.Errorf("%+v: %v is at %v, want %v", tt.axis, tt.v, got, tt.want)
		}
	}
}

func TestWrapBreaksAtSpaces(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want []string
	}{{"a bb ccc", 4, []string{"a bb", "ccc"}}, {"a bb ccc", 80, []string{"a bb ccc"}}, {"too-long x", 3, []string{"too-long", "x"}}, {"", 3, nil}} {
		if got := wrap(tt.text, tt.most); !slices.Equal(got, tt.want) {
			t.Errorf("wrap(%q, %d) = %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}
