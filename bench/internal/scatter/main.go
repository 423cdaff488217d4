// Command scatter prints docs/pictures/scatter.svg: the keys of inserts over the years, with IDs as
// they are and after publicid.Scatter. make pictures runs it.
package main

import (
	"fmt"
	"log"
	"math"
	"strconv"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/publicid"
)

func main() {
	const ranges, first, last = 8, 2026, 2094 // the years of bitsalloc.Recommended
	layout, err := bitsalloc.New(bitsalloc.Recommended(), bitsalloc.DefaultEpoch())
	if err != nil {
		log.Fatal(err)
	}
	years := chart.Axis{Title: "year of the insert", Min: first, Max: last}
	for year := first; year <= last; year += 4 {
		years.Ticks = append(years.Ticks, chart.Tick{At: float64(year), Label: strconv.Itoa(year)})
	}
	keys := chart.Axis{Title: "key, as a share of all keys", Max: 1}
	for i := range ranges + 1 {
		keys.Ticks = append(keys.Ticks, chart.Tick{At: float64(i) / ranges, Label: fmt.Sprintf("%d/%d", i, ranges)})
	}
	// points are the keys of the IDs with a sequence number, one each fourth year.
	points := func(sequence, bits int) (points [][2]float64) {
		for year := first; year < last; year += 4 {
			id := uidring.ID(layout.MinAt(time.Date(year, time.January, 1, 0, 0, 1, 0, time.UTC))) + uidring.ID(sequence)
			points = append(points, [2]float64{float64(year), float64(publicid.Scatter(id, bits)) / math.MaxInt64})
		}
		return points
	}
	fmt.Print(chart.Figure{
		Title:    "Where inserts go",
		Subtitle: "All IDs of a time have nearly the same key. Scatter(id, 3) gives them eight keys, and each of the eight only grows.",
		Keys:     []chart.Key{{Text: "ID", Style: 1, Mark: chart.Line}, {Text: "Scatter(id, 3)", Style: 0, Mark: chart.Line}},
		Left:     64, Height: 420, X: years, Y: keys,
		Draw: func(p chart.Plot) {
			for sequence := range ranges {
				p.Line(0, points(sequence, 3))
			}
			p.Line(1, points(0, 0))
		},
		Caption: []string{"Computed from bitsalloc.Recommended, by make pictures."},
	}.SVG())
}
