package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// parseLayout reads the name of a preset, or the four widths with or without a unit.
func parseLayout(text string) (bitsalloc.Layout, error) {
	switch text {
	case "default":
		return bitsalloc.Default(), nil
	case "leased":
		return bitsalloc.Leased(), nil
	case "baidu":
		return bitsalloc.Baidu(), nil
	case "snowflake":
		return bitsalloc.Snowflake(), nil
	case "javascript":
		return bitsalloc.JavaScript(), nil
	}
	l, err := parseWidths(strings.Split(text, "/"))
	if err != nil {
		return l, err
	}
	a, err := bitsalloc.New(l, bitsalloc.DefaultEpoch())
	if err != nil {
		return l, err
	}
	return a.Layout(), nil
}

func parseWidths(parts []string) (bitsalloc.Layout, error) {
	allowed := errors.New("allowed: default, leased, baidu, snowflake, javascript, or widths such as 28/5/17/13 or 41/0/10/12/1ms")
	if len(parts) != 4 && len(parts) != 5 {
		return bitsalloc.Layout{}, allowed
	}
	var l bitsalloc.Layout
	for i, field := range [...]*uint8{&l.DeltaBits, &l.DatacenterBits, &l.WorkerBits, &l.SequenceBits} {
		n, err := strconv.ParseUint(parts[i], 10, 8)
		if err != nil {
			return l, fmt.Errorf("%q is not a width; %w", parts[i], allowed)
		}
		*field = uint8(n)
	}
	if len(parts) == 5 {
		unit, err := time.ParseDuration(parts[4])
		if err != nil || unit == 0 {
			return l, fmt.Errorf("%q is not a unit; %w", parts[4], allowed)
		}
		l.Unit = unit
	}
	return l, nil
}
