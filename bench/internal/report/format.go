package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize"
)

// None stands for a figure that was not measured.
const None = "–"

// Comma writes a number with commas.
func Comma[T ~int | ~int64](n T) string { return humanize.Comma(int64(n)) }

// Counted writes "1 CPU" or "2 CPUs".
func Counted[T ~int | ~int64](n T, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Comma(n) + " " + noun
}

// Goroutines writes "1 goroutine" or "2 goroutines".
func Goroutines(n int) string { return Counted(n, "goroutine") }

// Figure writes a number with three significant digits, or all digits before the point. It
// writes 0 as None.
func Figure(n float64) string {
	switch {
	case n == 0:
		return None
	case n < 0.995:
		return fmt.Sprintf("%.3f", n)
	case n < 9.995:
		return fmt.Sprintf("%.2f", n)
	case n < 99.95:
		return fmt.Sprintf("%.1f", n)
	}
	return Comma(int64(n + 0.5))
}

// KiB writes a number of bytes.
func KiB(bytes float64) string { return fmt.Sprintf("%.1f KiB", bytes/1024) }

// Ns writes nanoseconds with the unit that fits, and 0 as None.
func Ns(n float64) string {
	if n == 0 {
		return None
	}
	n, unit := Scale(n)
	return Figure(n) + " " + unit
}

// Scale returns nanoseconds in the unit that fits.
func Scale(n float64) (scaled float64, unit string) {
	for _, unit := range []string{"ns", "µs", "ms"} {
		if n < 999.5 {
			return n, unit
		}
		n /= 1000
	}
	return n, "s"
}

// Millions writes a number of millions, which has more digits than a measurement knows.
func Millions(n float64) string { return Figure(n/1e6) + " million" }

// At returns the time below which a share of a sorted list lies, or None for an empty list.
func At(sorted []time.Duration, share float64) string {
	if len(sorted) == 0 {
		return None
	}
	return Ns(float64(sorted[int(share*float64(len(sorted)-1))]))
}

// Median returns the median of a list, 0 of an empty list.
func Median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}
