package report

import (
	"fmt"
	"strings"
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

// Ns writes nanoseconds with three significant digits and the unit that fits.
func Ns(n float64) string {
	unit := "ns"
	for _, next := range [...]string{"µs", "ms", "s"} {
		if n < 999.5 {
			break
		}
		n, unit = n/1000, next
	}
	return Significant(n) + " " + unit
}

// Elapsed is Ns of seconds.
func Elapsed(seconds float64) string { return Ns(seconds * 1e9) }

// Whole is Ns for times that are not measured in fractions.
func Whole(n int64) string {
	if n < 1000 {
		return Comma(n) + " ns"
	}
	return Ns(float64(n))
}

// Timed is Whole for a time that the clock showed. Package load records a time that is too short
// for the clock as 1 ns.
func Timed(ns int64) string {
	if ns <= 1 {
		return "< 1 tick"
	}
	return Whole(ns)
}

// Size writes bytes in units of 1,024.
func Size(bytes int64) string { return humanize.IBytes(uint64(bytes)) }

// Span writes a long time in seconds to days.
func Span(seconds float64) string {
	const day = 24 * time.Hour
	switch d := seconds / time.Second.Seconds(); {
	case d < 0:
		return "-" + Span(-d)
	case d < 120:
		return Significant(d) + " s"
	case d < 2*time.Hour.Seconds():
		return Significant(d/60) + " min"
	case d < 2*day.Seconds():
		return Significant(d/time.Hour.Seconds()) + " h"
	default:
		return Significant(d/day.Seconds()) + " days"
	}
}

// Times writes a ratio.
func Times(ratio float64) string { return fmt.Sprintf("%.2f ×", ratio) }

// Figure writes nanoseconds without their unit, with three significant digits.
func Figure(ns float64) string {
	switch {
	case ns == 0:
		return None
	case ns < 0.995:
		return fmt.Sprintf("%.3f", ns)
	}
	return Significant(ns)
}

// Significant writes three significant digits, or all digits before the point.
func Significant(n float64) string {
	switch {
	case n >= 99.95:
		return Comma(int64(n + 0.5))
	case n >= 9.995:
		return fmt.Sprintf("%.1f", n)
	default:
		return fmt.Sprintf("%.2f", n)
	}
}

// Lines joins the lines of errors that were joined.
func Lines(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
