package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

func comma(n int64) string { return humanize.Comma(n) }

// counted is "1 CPU" or "2 CPUs".
func counted(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return comma(n) + " " + what
}

// ns writes nanoseconds with three digits that count and a unit that fits. Units are two columns wide.
func ns(n float64) string {
	unit := "ns"
	for _, next := range [...]string{"µs", "ms", "s "} {
		if n < 999.5 {
			break
		}
		n, unit = n/1000, next
	}
	return significant(n) + " " + unit
}

// elapsed writes a time that was measured.
func elapsed(seconds float64) string { return strings.TrimSpace(ns(seconds * 1e9)) }

// whole is ns for what is not measured in fractions.
func whole(n int64) string {
	if n < 1000 {
		return comma(n) + " ns"
	}
	return ns(float64(n))
}

// size writes bytes in units of 1,024.
func size(bytes int64) string { return humanize.IBytes(uint64(bytes)) }

// span writes a long time with one unit. Units are not smaller than a second nor larger than a day.
func span(seconds float64) string {
	const day = 24 * time.Hour
	switch d := seconds / time.Second.Seconds(); {
	case d < 120:
		return significant(d) + " s"
	case d < 2*time.Hour.Seconds():
		return significant(d/60) + " min"
	case d < 2*day.Seconds():
		return significant(d/time.Hour.Seconds()) + " h"
	default:
		return significant(d/day.Seconds()) + " days"
	}
}

// significant writes three digits that count, or all before the point.
func significant(n float64) string {
	switch {
	case n >= 99.95:
		return comma(int64(n + 0.5))
	case n >= 9.995:
		return fmt.Sprintf("%.1f", n)
	default:
		return fmt.Sprintf("%.2f", n)
	}
}
