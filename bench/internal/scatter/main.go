// Command scatter prints docs/pictures/scatter.svg: the keys of inserts over the years, with IDs as
// they are and after publicid.Scatter. make pictures runs it.
package main

import (
	"fmt"
	"log"
	"math"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/publicid"
)

const head = `<svg xmlns="http://www.w3.org/2000/svg" width="860" height="530" viewBox="0 0 860 530">
<style>text{font:13px "Liberation Sans",Arial,Helvetica,sans-serif;fill:#24292f}.grid{stroke:#e6e9ed}.middle{text-anchor:middle}.end{text-anchor:end}</style>
<rect x="0.5" y="0.5" width="859" height="529" fill="#fff" stroke="#d0d7de"/>
<text x="16" y="32" style="font-size:18px;font-weight:bold">Where inserts go</text>
<text x="16" y="54">IDs of one time have nearly the same key (orange). Scatter(id, 3) gives them eight keys, which only grow (blue).</text>
<text x="430" y="516" class="middle">year of the insert; vertically: the key as a share of all keys, with bitsalloc.Recommended</text>
`

func main() {
	const ranges, first, last = 8, 2026, 2094 // the years of bitsalloc.Recommended
	layout, err := bitsalloc.New(bitsalloc.Recommended(), bitsalloc.DefaultEpoch())
	if err != nil {
		log.Fatal(err)
	}
	x := func(year int) float64 { return 60 + 780*float64(year-first)/(last-first) }
	y := func(share float64) float64 { return 470 - 390*share }
	fmt.Print(head)
	for i := range ranges + 1 {
		at := y(float64(i) / ranges)
		fmt.Printf("<path d=\"M60,%.1fH840\" class=\"grid\"/><text x=\"50\" y=\"%.1f\" class=\"end\">%d/%d</text>\n", at, at+4.5, i, ranges)
	}
	// line marks the keys of the IDs with a sequence number, one each fourth year.
	line := func(color string, sequence, bits int) {
		for year := first; year < last; year += 4 {
			id := uidring.ID(layout.MinAt(time.Date(year, time.January, 1, 0, 0, 1, 0, time.UTC))) + uidring.ID(sequence)
			share := float64(publicid.Scatter(id, bits)) / math.MaxInt64
			fmt.Printf("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", x(year), y(share), color)
		}
	}
	for year := first; year <= last; year += 4 {
		fmt.Printf("<text x=\"%.1f\" y=\"492\" class=\"middle\">%d</text>\n", x(year), year)
	}
	for sequence := range ranges {
		line("#0072b2", sequence, 3)
	}
	line("#d55e00", 0, 0)
	fmt.Println("</svg>")
}
