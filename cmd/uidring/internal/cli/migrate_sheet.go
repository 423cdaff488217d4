package cli

import (
	"fmt"
	"time"

	"github.com/uidring/uidring/cmd/uidring/internal/migrate"
)

// shownRows is the number of workers and of repeated IDs that the table shows. JSON has all.
const shownRows = 20

// print writes the report for people.
func (m *migrationSheet) print() error {
	r, t := m.report, &table{s: m.s}
	t.row("IDS", fmt.Sprintf("%d: %s", r.Read, m.origin))
	t.row("FORMAT", m.formatText())
	t.row("SMALLEST", decimalText(r.Smallest))
	t.row("LARGEST", decimalText(r.Largest))
	if r.Oldest != nil {
		t.row("OLDEST", fieldsText(r.Oldest))
		t.row("NEWEST", fieldsText(r.Newest))
	}
	for _, note := range m.notes() {
		t.row("NOTE", m.s.paint(m.s.out, yellow, note))
	}
	for _, low := range r.LowBits {
		t.row("LOW BITS", fmt.Sprintf("modulo %d, %.1f%% are %d; spread evenly, %.1f%% would be",
			low.Modulus, 100*low.Share, low.Remainder, 100/float64(low.Modulus)))
	}
	t.row("NEW LAYOUT", fmt.Sprintf("%s since %s, until %s", m.alloc.Layout(), rfc3339(m.alloc.Epoch()), r.New.Ends.Format(time.DateOnly)))
	if r.New.Relation != migrate.Ended {
		t.row("NEW IDS", fmt.Sprintf("%d to %d, from %s on", r.New.First, r.New.Last, rfc3339(m.start.Time)))
	}
	if a := r.New.Advice; a != nil {
		place := "above the old IDs"
		if a.Relation == migrate.Apart {
			place = "apart, below the old positive IDs"
		}
		t.row("ADVICE", fmt.Sprintf("--layout %s --epoch %s is %s, and lasts until %s",
			a.Layout, a.Epoch.Format(time.DateOnly), place, a.Ends.Format(time.DateOnly)))
	}
	t.row("VERDICT", m.verdict())
	if err := t.print(); err != nil {
		return err
	}
	if err := m.printRepeated(); err != nil {
		return err
	}
	return m.printWorkers()
}

func (m *migrationSheet) formatText() string {
	if m.old.Counter() {
		return "counter"
	}
	layout := m.old.Layout.String()
	if layout != m.old.Name {
		layout = m.old.Name + ", " + layout
	}
	return fmt.Sprintf("%s since %s, until %s", layout, rfc3339(m.old.get().Epoch), m.report.Ends.Format(time.DateOnly))
}

func fieldsText(f *migrate.Fields) string {
	return fmt.Sprintf("%d: %s, datacenter %d, worker %d, sequence %d", f.ID, rfc3339(f.Time), f.Datacenter, f.Worker, f.Sequence)
}

// notes returns the findings about the old IDs.
func (m *migrationSheet) notes() (notes []string) {
	r := m.report
	if r.Negative > 0 && m.old.Counter() {
		notes = append(notes, fmt.Sprintf("negative IDs: %d", r.Negative))
	} else if r.Negative > 0 {
		notes = append(notes, fmt.Sprintf("negative IDs: %d; the layout ended on %s, and delta overflowed into the sign", r.Negative, r.Ends.Format(time.DateOnly)))
	}
	if r.Foreign > 0 {
		notes = append(notes, fmt.Sprintf("numbers that are no IDs of this format: %d", r.Foreign))
	}
	if r.Newest != nil && r.Newest.Time.After(m.start.Add(24*time.Hour)) {
		notes = append(notes, fmt.Sprintf("the newest ID is from the future: the format or --old-epoch is wrong, or its generator ran ahead of the clock by %s",
			r.Newest.Time.Sub(m.start.Time).Round(time.Hour)))
	}
	if n := len(r.Repeated); n > 0 {
		notes = append(notes, fmt.Sprintf("repeated IDs: %d; two generators had one worker ID, or a table was read twice", n))
	}
	return notes
}

func (m *migrationSheet) verdict() string {
	colour, text := red, ""
	v := m.report.New
	switch v.Relation {
	case migrate.Above:
		colour, text = green, "above: every new ID will be larger than the existing ones"
	case migrate.Apart:
		text = "apart: new IDs will be smaller than existing ones, and equal none"
	case migrate.Ended:
		text = "ended: the new layout has no IDs left at the start"
	case migrate.Overlap:
		text = "overlap: new IDs may equal existing ones"
		if !v.Meets.IsZero() {
			text += " from " + rfc3339(v.Meets)
		}
		if v.From.IsZero() {
			text += " for as long as the new layout lasts"
		} else {
			text += " until " + rfc3339(v.From) + ", and will be above them from then on"
		}
	}
	if (v.Relation == migrate.Overlap || v.Relation == migrate.Ended) && v.Advice == nil && v.From.IsZero() {
		text += "; see docs/MIGRATION.md for layouts that keep apart"
	}
	return m.s.paint(m.s.out, colour, text)
}

func (m *migrationSheet) printRepeated() error {
	t := m.s.table("REPEATED ID", "TIMES")
	for _, repeat := range m.report.Repeated {
		t.row(decimalText(repeat.ID), fmt.Sprint(repeat.Times))
	}
	return m.printBelow(t)
}

func (m *migrationSheet) printWorkers() error {
	t := m.s.table("DATACENTER", "WORKER", "IDS", "FIRST", "LAST")
	for _, w := range m.report.Workers {
		t.row(decimalText(w.Datacenter), decimalText(w.Worker), fmt.Sprint(w.IDs), rfc3339(w.First), rfc3339(w.Last))
	}
	return m.printBelow(t)
}

// printBelow prints the first rows of a table that has rows, on a terminal, below an empty line.
// Programs read JSON.
func (m *migrationSheet) printBelow(t *table) error {
	if len(t.rows) == 0 || !m.s.tables {
		return nil
	}
	if more := len(t.rows) - shownRows; more > 0 {
		t.rows = append(t.rows[:shownRows], []string{"…", fmt.Sprintf("%d more, see --json", more)})
	}
	if err := write(m.s.out, "\n"); err != nil {
		return err
	}
	return t.print()
}

// json returns the report for JSON. Its IDs are texts, since JavaScript rounds large numbers.
func (m *migrationSheet) json() any {
	type format struct {
		Name   string    `json:"name,omitempty"`
		Layout string    `json:"layout,omitempty"`
		Epoch  time.Time `json:"epoch,omitzero"`
	}
	old := format{Name: m.old.Name}
	if !m.old.Counter() {
		old.Layout, old.Epoch = m.old.Layout.String(), m.old.get().Epoch.UTC()
	}
	return struct {
		Origin string    `json:"origin"`
		Old    format    `json:"oldFormat"`
		New    format    `json:"newFormat"`
		Start  time.Time `json:"start"`
		migrate.Report
	}{m.origin, old, format{Layout: m.alloc.Layout().String(), Epoch: m.alloc.Epoch()}, m.start.Time, m.report}
}
