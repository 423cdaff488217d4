package main

import (
	"math"
	"testing"
)

func TestFiguresKeepThreeDigitsAndFittingUnits(t *testing.T) {
	tests := []struct{ got, want string }{
		{ns(0), "0.00 ns"},
		{ns(0.534), "0.53 ns"},
		{ns(9.994), "9.99 ns"},
		{ns(9.996), "10.0 ns"},
		{ns(99.96), "100 ns"},
		{ns(999.4), "999 ns"},
		{ns(999.6), "1.00 µs"},
		{ns(12_345_678), "12.3 ms"},
		{ns(2.5e9), "2.50 s "},
		{ns(3e12), "3,000 s "},
		{whole(0), "0 ns"},
		{whole(999), "999 ns"},
		{whole(1_530), "1.53 µs"},
		{elapsed(0.0421), "42.1 ms"},
		{elapsed(3.06), "3.06 s"},
		{span(0.482), "0.48 s"},
		{span(119), "119 s"},
		{span(121), "2.02 min"},
		{span(7_200), "2.00 h"},
		{span(172_800), "2.00 days"},
		{span(math.MaxInt64 / 1e9), "106,752 days"},
		{counted(1, "CPU"), "1 CPU"},
		{counted(1_024, "goroutine"), "1,024 goroutines"},
		{size(3_800), "3.7 KiB"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
