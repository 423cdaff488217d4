package report

import (
	"math"
	"testing"
)

func TestFiguresKeepThreeDigitsAndFittingUnits(t *testing.T) {
	tests := []struct{ got, want string }{
		{Ns(0), "0.00 ns"},
		{Ns(0.534), "0.53 ns"},
		{Ns(9.994), "9.99 ns"},
		{Ns(9.996), "10.0 ns"},
		{Ns(99.96), "100 ns"},
		{Ns(999.4), "999 ns"},
		{Ns(999.6), "1.00 µs"},
		{Ns(12_345_678), "12.3 ms"},
		{Ns(2.5e9), "2.50 s"},
		{Ns(3e12), "3,000 s"},
		{Whole(0), "0 ns"},
		{Whole(999), "999 ns"},
		{Timed(0), "< 1 tick"},
		{Timed(1), "< 1 tick"},
		{Timed(1_530), "1.53 µs"},
		{Whole(1_530), "1.53 µs"},
		{Elapsed(0.0421), "42.1 ms"},
		{Elapsed(3.06), "3.06 s"},
		{Span(0.482), "0.48 s"},
		{Span(119), "119 s"},
		{Span(121), "2.02 min"},
		{Span(7_200), "2.00 h"},
		{Span(172_800), "2.00 days"},
		{Span(math.MaxInt64 / 1e9), "106,752 days"},
		{Span(-0.482), "-0.48 s"},
		{Figure(0), None},
		{Figure(0.0523), "0.052"},
		{Figure(1.234), "1.23"},
		{Counted(1, "CPU"), "1 CPU"},
		{Counted(1_024, "goroutine"), "1,024 goroutines"},
		{Size(3_800), "3.7 KiB"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		list []float64
		want float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{9, 1, 2, 4}, 3},
	} {
		if got := Median(tt.list); got != tt.want {
			t.Errorf("median of %v: %v, want %v", tt.list, got, tt.want)
		}
	}
}
