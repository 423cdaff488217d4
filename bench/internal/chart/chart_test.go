package chart

import (
	"encoding/xml"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// example has one panel of each kind.
func example() Figure {
	series := []Series{
		{Name: "first", Color: Color(0), Style: 0, Points: []Point{{1, 10}, {10, 20}, {100, 1e9}}},
		{Name: "second & last", Color: Color(1), Style: 1, Points: []Point{{1, 30}, {100, 5}}},
		{Name: "no points", Color: Color(2), Style: 2},
	}
	x := Axis{Title: "goroutines", Log: true, Min: 1, Max: 100, Ticks: Decades(1, 100, func(float64) string { return "tick" })}
	y := Axis{Title: "time", Log: true, Min: 1, Max: 100, Ticks: Decades(1, 100, Duration)}
	return Figure{
		Title:    "A title",
		Subtitle: "and what it means",
		Keys:     append(Keys(series), Key{Text: "bar", Color: Color(0)}, Key{Text: "capped", Color: Color(1), Mark: Hollow}, SecondKey("more")),
		Panels: [][]Panel{
			{Lines{Title: "lines", X: x, Y: y, Series: series}, Heat{Title: "heat", XLabels: []string{"1", "2"}, YLabels: []string{"a"},
				Values: [][]float64{{1, 100}}, Low: 1, High: 100, Text: Duration}},
			{Bars{X: y, Reference: 10, Bars: []Bar{{Name: "short", Value: 0.5, Text: "0.5 ns", Color: Color(0)},
				{Name: "long", Value: 50, Second: 80, Text: "50 ns", Color: Color(1), Hollow: true}}}},
		},
		Height:  700,
		Caption: []string{"how", "where"},
	}
}

func TestFigureIsOpaqueAndHasItsSize(t *testing.T) {
	picture := decode(t, saved(t, example())+".png")
	if got, want := picture.Bounds().Size(), image.Pt(Width*Density, 700*Density); got != want {
		t.Errorf("size %v, want %v", got, want)
	}
	colours := make(map[color.RGBA]int)
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			c := color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)
			if c.A != 0xff {
				t.Fatalf("pixel %d, %d is not opaque: %v", x, y, c)
			}
			colours[c]++
		}
	}
	if n := picture.Bounds().Dx() * picture.Bounds().Dy(); colours[color.RGBA{0xff, 0xff, 0xff, 0xff}] < n/2 {
		t.Errorf("%d of %d pixels are white, want most", colours[color.RGBA{0xff, 0xff, 0xff, 0xff}], n)
	}
	for i, clr := range []color.Color{border(), Color(0), Color(1), ink(), shade(0), shade(1)} {
		if colours[color.RGBAModel.Convert(clr).(color.RGBA)] == 0 {
			t.Errorf("colour %d, %v, is not there", i, clr)
		}
	}
	if edge := picture.At(0, 700); color.RGBAModel.Convert(edge) != color.RGBAModel.Convert(border()) {
		t.Errorf("the edge is %v, want the border", edge)
	}
}

func TestTextsOfASVGKeepTheirWidth(t *testing.T) {
	file, err := os.Open(saved(t, example()) + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	type text struct {
		Length string `xml:"textLength,attr"`
		Style  string `xml:"style,attr"`
		Text   string `xml:",chardata"`
	}
	var texts []string
	for decoder := xml.NewDecoder(file); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "text" {
			continue
		}
		var element text
		if err := decoder.DecodeElement(&element, &start); err != nil {
			t.Fatal(err)
		}
		if element.Length == "" || element.Length == "0.00" || !strings.Contains(element.Style, "Liberation Sans,Arial") {
			t.Errorf("%q has textLength %q and style %s", element.Text, element.Length, element.Style)
		}
		texts = append(texts, element.Text)
	}
	for _, want := range []string{"A title", "and what it means", "second & last", "lines", "goroutines", "10 ns", "heat", "a", "100 ns", "short", "0.5 ns", "how", "where"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no text %q in %q", want, texts)
		}
	}
}

func TestFigureThatCannotBeSavedIsReported(t *testing.T) {
	if err := example().Save(filepath.Join(t.TempDir(), "none"), "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// saved saves a figure and returns the path of its files but for what follows the dot.
func saved(t *testing.T, f Figure) string {
	t.Helper()
	dir := t.TempDir()
	if err := f.Save(dir, "example"); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "example")
}

func decode(t *testing.T, path string) image.Image {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	picture, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

func TestDecadesHaveLabelsWhereThereIsRoom(t *testing.T) {
	tests := []struct {
		least, most float64
		ticks       int
		labels      string
	}{
		{1, 10, 10, "1 ns, 2 ns, 5 ns, 10 ns"},
		{5, 50, 10, "5 ns, 10 ns, 20 ns, 50 ns"},
		{1, 1000, 28, "1 ns, 10 ns, 100 ns, 1 µs"},
		{0.5, 2, 7, "0.5 ns, 1 ns, 2 ns"},
		{100, 1e6, 37, "100 ns, 1 µs, 10 µs, 100 µs, 1 ms"},
	}
	for _, tt := range tests {
		ticks := Decades(tt.least, tt.most, Duration)
		var labels []string
		for _, tick := range ticks {
			if tick.Label != "" {
				labels = append(labels, tick.Label)
			}
		}
		if len(ticks) != tt.ticks || strings.Join(labels, ", ") != tt.labels {
			t.Errorf("%v to %v: %d ticks, %q; want %d, %s", tt.least, tt.most, len(ticks), labels, tt.ticks, tt.labels)
		}
	}
}

func TestAxisGoesToRoundNumbers(t *testing.T) {
	for _, tt := range []struct{ least, most, from, to float64 }{
		{1, 10, 1, 10}, {0.6, 24, 0.5, 50}, {5, 5, 5, 50}, {10, 10, 10, 100}, {2, 21, 2, 50}, {7, 101, 5, 200}, {19, 90, 10, 100}, {0.03, 0.04, 0.02, 0.05},
	} {
		from, to := Around(tt.least, tt.most)
		if !near(from, tt.from) || !near(to, tt.to) {
			t.Errorf("Around(%v, %v) = %v, %v, want %v, %v", tt.least, tt.most, from, to, tt.from, tt.to)
		}
	}
}

func near(a, b float64) bool { return a > b*(1-1e-12) && a < b*(1+1e-12) }

func TestDurationsHaveTheUnitThatFits(t *testing.T) {
	for ns, want := range map[float64]string{0.01: "0.01 ns", 1: "1 ns", 999: "999 ns", 1000: "1 µs", 2e5: "200 µs", 1e6: "1 ms", 1e9: "1 s", 1e12: "1000 s"} {
		if got := Duration(ns); got != want {
			t.Errorf("Duration(%v) = %s, want %s", ns, got, want)
		}
	}
}

func TestHeatIsShadedFromLowToHigh(t *testing.T) {
	h := Heat{Low: 1, High: 100}
	for value, want := range map[float64]float64{0: 0, 1: 0, 10: 0.5, 100: 1, 1000: 1} {
		if got := h.share(value); got < want-1e-12 || got > want+1e-12 {
			t.Errorf("share(%v) = %v, want %v", value, got, want)
		}
	}
	if got := (Heat{Low: 5, High: 5}).share(5); got != 0 {
		t.Errorf("share of a single value: %v, want 0", got)
	}
}

func TestWrapBreaksAtSpaces(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want []string
	}{
		{"a bb ccc", 4, []string{"a bb", "ccc"}}, {"a bb ccc", 80, []string{"a bb ccc"}}, {"too-long x", 3, []string{"too-long", "x"}}, {"", 3, []string{""}},
	} {
		if got := Wrap(tt.text, tt.most); !slices.Equal(got, tt.want) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}
