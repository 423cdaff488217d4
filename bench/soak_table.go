package main

import "fmt"

// soakLine lays out a line of figures. The columns are fixed, since a line is printed as soon as its mode has ended.
const soakLine = "  %-33s %4s %15s %9s %9s %15s %15s %11s %11s %10s\n"

func printSoakHead(p printer) {
	fmt.Fprintf(p, "\n"+soakLine, "SOAK", "by", "IDs, all new", "time", "per ID", "put", "retired",
		"rejected", "inline pads", "bitmap")
}

func (r soakRow) print(p printer) {
	put, retired, pads := "-", "-", "-" // without a ring
	if r.Put > 0 {
		put, retired, pads = comma(r.Put), comma(r.Retired), comma(r.InlinePads)
	}
	fmt.Fprintf(p, soakLine, r.Summary, comma(int64(r.Goroutines)), comma(r.Different), elapsed(r.Seconds), ns(r.NsPerID),
		put, retired, comma(r.Rejected), pads, size(r.Bitmap))
}

// A soakTotal is the sum over all modes.
type soakTotal struct {
	Modes      int     `json:"modes"`
	IDs        int64   `json:"ids"`
	Duplicates int64   `json:"duplicates"`
	Seconds    float64 `json:"seconds"`
}

func totalOf(rows []soakRow) (t soakTotal) {
	for _, r := range rows {
		t.Modes++
		t.IDs += r.IDs
		t.Duplicates += r.IDs - r.Different
		t.Seconds += r.Seconds
	}
	return t
}

func (t soakTotal) print(p printer) {
	p.title("%s, %s IDs, each counted exactly once, %s, %s; every ID put into a ring accounted for",
		counted(int64(t.Modes), "mode"), comma(t.IDs), counted(t.Duplicates, "duplicate"), elapsed(t.Seconds))
}
