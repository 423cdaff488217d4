package main

import (
	"fmt"
	"slices"
	"strings"
)

// A comparison is what compare prints.
type comparison struct {
	facts
	Rounds int           `json:"rounds"`
	LapMs  float64       `json:"lap_ms"`
	Rows   []comparedRow `json:"rows"`
}

// A comparedRow is a contestant on a number of goroutines: medians over the rounds. Names end in their unit. What was
// not measured is 0.
type comparedRow struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Goroutines int    `json:"goroutines"`
	Laps       int    `json:"laps"` // 0: the cap would not show in a lap, nothing was measured

	NsPerID        float64 `json:"ns_per_id"`        // wall time, all goroutines together
	CPUNsPerID     float64 `json:"cpu_ns_per_id"`    // of the whole process; 0: this system does not say
	RatioToAdd     float64 `json:"ratio_to_add"`     // to the atomic add on one goroutine in the same round
	CPURatio       float64 `json:"cpu_ratio_to_add"` // the same of CPU times, which others on the machine disturb less
	RatioContended float64 `json:"ratio_contended"`  // to the atomic add on as many goroutines in the same round
	Fairness       float64 `json:"fairness"`         // smallest share of a goroutine over the largest
	CapPerSecond   float64 `json:"cap_per_second"`   // the most IDs that the format allows; 0: more than can be issued
	Bits           int     `json:"id_bits"`          // 0: no ID
	Order          string  `json:"order"`            // of the IDs of one process
	Worker         string  `json:"processes_apart"`  // how two processes are kept apart
	Ahead          string  `json:"ahead_of_clock"`   // how far the time in an ID runs ahead of the clock
	Note           string  `json:"note"`
}

// compared turns sprints into rows.
func compared(all []*event) []comparedRow {
	adds := make(map[int][]sprint)
	for _, e := range all {
		if e.contestant.name == nameAtomicAdd {
			adds[e.goroutines] = e.sprints
		}
	}
	rows := make([]comparedRow, 0, len(all))
	for _, e := range all {
		c := e.contestant
		row := comparedRow{Name: c.name, Kind: c.kind, Goroutines: e.goroutines, Laps: len(e.sprints), CapPerSecond: c.perSecond,
			Bits: c.bits, Order: c.order, Worker: c.worker, Ahead: c.ahead, Note: c.note}
		if row.Laps > 0 {
			row.NsPerID = medianOf(e.sprints, sprint.wallNs)
			row.CPUNsPerID = medianOf(e.sprints, sprint.cpuNs)
			row.Fairness = medianOf(e.sprints, sprint.fairness)
			row.RatioToAdd = ratio(e.sprints, adds[1], sprint.wallNs)
			row.CPURatio = ratio(e.sprints, adds[1], sprint.cpuNs)
			row.RatioContended = ratio(e.sprints, adds[e.goroutines], sprint.wallNs)
		}
		rows = append(rows, row)
	}
	return rows
}

func medianOf(sprints []sprint, figure func(sprint) float64) float64 {
	list := make([]float64, len(sprints))
	for i, s := range sprints {
		list[i] = figure(s)
	}
	return median(list)
}

// ratio is the median of what an ID costs in units of the same round; 0 when that is not known.
func ratio(sprints, units []sprint, cost func(sprint) float64) float64 {
	list := make([]float64, len(sprints))
	for i, s := range sprints {
		if cost(units[i]) == 0 {
			return 0
		}
		list[i] = cost(s) / cost(units[i])
	}
	return median(list)
}

// find returns the row of a contestant, or false.
func (c comparison) find(name string, goroutines int) (comparedRow, bool) {
	for _, row := range c.Rows {
		if row.Name == name && row.Goroutines == goroutines {
			return row, true
		}
	}
	return comparedRow{}, false
}

// starved says so when the machine had no CPU for the atomic add for a part of the time, which never waits.
func (c comparison) starved() string {
	var shares []string
	short := false
	for _, n := range slices.Compact([]int{1, c.cpus()}) {
		row, _ := c.find(nameAtomicAdd, n)
		if row.CPUNsPerID == 0 {
			return ""
		}
		share := row.CPUNsPerID / row.NsPerID
		short = short || share < 0.85*float64(n)
		shares = append(shares, fmt.Sprintf("%.1f of %s", share, counted(int64(n), "CPU")))
	}
	if !short {
		return ""
	}
	return fmt.Sprintf("Others used the machine: the atomic add had %s. Wall times are too long then; CPU times tell more.", strings.Join(shares, ", "))
}
