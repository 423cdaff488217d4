package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uidring/internal/migrate"
)

// shownRows is the number of workers and of repeated IDs that people see. JSON has all.
const shownRows = 20

// A migrationSheet is a report as JSON, and prints it for people.
type migrationSheet struct {
	Origin string         `json:"origin"`
	Old    migrate.Format `json:"oldFormat"`
	Next   migrate.Format `json:"newFormat"`
	Start  time.Time      `json:"start"`
	migrate.Report
}

// print writes the report for people.
func (m *migrationSheet) print(w io.Writer) {
	row := func(name, format string, args ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", args...) }
	row("IDS", "%d: %s", m.Read, m.Origin)
	if m.Old.Counter() {
		row("FORMAT", "counter")
	} else {
		row("FORMAT", "%s since %s, until %s", m.Old, rfc3339(m.Old.Epoch), m.Ends.Format(time.DateOnly))
	}
	row("SMALLEST", "%d", m.Smallest)
	row("LARGEST", "%d", m.Largest)
	if m.Oldest != nil {
		row("OLDEST", "%s", fieldsText(m.Oldest))
		row("NEWEST", "%s", fieldsText(m.Newest))
	}
	for _, note := range m.notes() {
		row("NOTE", "%s", note)
	}
	row("NEW LAYOUT", "%s since %s, until %s", m.Next.Layout, rfc3339(m.Next.Epoch), m.New.Ends.Format(time.DateOnly))
	if m.New.Relation != migrate.Ended {
		row("NEW IDS", "%d to %d, from %s on", m.New.First, m.New.Last, rfc3339(m.Start))
	}
	if a := m.New.Advice; a != nil {
		place := "above the old IDs"
		if a.Relation == migrate.Apart {
			place = "apart, below the old positive IDs"
		}
		row("ADVICE", "--layout %s --epoch %s is %s, and lasts until %s", a.Layout, a.Epoch.Format(time.DateOnly), place, a.Ends.Format(time.DateOnly))
		row("IN GO", "Layout: %s,", goLayout(a.Layout))
		row("", "Epoch: time.Date(%d, time.January, 1, 0, 0, 0, 0, time.UTC),", a.Epoch.Year())
	}
	row("VERDICT", "%s", m.verdict())
	m.printWorkers(w)
}

func (m *migrationSheet) printWorkers(w io.Writer) {
	if len(m.Workers) == 0 {
		return
	}
	fmt.Fprintln(w, "\nDATACENTER\tWORKER\tIDS\tFIRST\tLAST")
	for _, worker := range m.Workers[:min(shownRows, len(m.Workers))] {
		fmt.Fprintf(w, "%d\t%d\t%d\t%s\t%s\n", worker.Datacenter, worker.Worker, worker.IDs, rfc3339(worker.First), rfc3339(worker.Last))
	}
	if more := len(m.Workers) - shownRows; more > 0 {
		fmt.Fprintf(w, "%d more, see --json\n", more)
	}
}

// goLayout returns a layout as a literal of Go, with a unit of whole milliseconds, and without the
// zero values.
func goLayout(l bitsalloc.Layout) string {
	fields := fmt.Sprintf("DeltaBits: %d, DatacenterBits: %d, WorkerBits: %d, SequenceBits: %d, Unit: %d * time.Millisecond",
		l.DeltaBits, l.DatacenterBits, l.WorkerBits, l.SequenceBits, l.Unit.Milliseconds())
	return "bitsalloc.Layout{" + strings.NewReplacer(" DatacenterBits: 0,", "", ", Unit: 1000 * time.Millisecond", "").Replace(fields) + "}"
}

func fieldsText(f *migrate.Fields) string {
	return fmt.Sprintf("%d: %s, datacenter %d, worker %d, sequence %d", f.ID, rfc3339(f.Time), f.Datacenter, f.Worker, f.Sequence)
}

// notes returns the findings about the old IDs.
func (m *migrationSheet) notes() (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if m.Negative > 0 && m.Old.Counter() {
		note("negative IDs: %d", m.Negative)
	} else if m.Negative > 0 {
		note("negative IDs: %d; the layout ended on %s, and delta overflowed into the sign", m.Negative, m.Ends.Format(time.DateOnly))
	}
	if m.Foreign > 0 {
		note("numbers that are no IDs of this format: %d", m.Foreign)
	}
	if m.Newest != nil && m.Newest.Time.After(m.Start.Add(24*time.Hour)) {
		note("the newest ID is from the future: the format or --old-epoch is wrong, or its generator ran ahead of the clock by %s",
			m.Newest.Time.Sub(m.Start).Round(time.Hour))
	}
	for i, repeat := range m.Repeated {
		if i == shownRows {
			note("%d more repeated IDs, see --json", len(m.Repeated)-shownRows)
			break
		}
		note("%d was read %d times: two generators had one worker ID, or a row was read twice", repeat.ID, repeat.Times)
	}
	return notes
}

func (m *migrationSheet) verdict() (text string) {
	v := m.New
	switch v.Relation {
	case migrate.Above:
		return "above: every new ID will be larger than the existing ones"
	case migrate.Apart:
		return "apart: new IDs will be smaller than existing ones, and equal none"
	case migrate.Ended:
		text = "ended: the new layout has no IDs left at the start"
	case migrate.Overlap:
		text = "overlap: new IDs may equal existing ones"
		if !v.Meets.IsZero() {
			text += " from " + rfc3339(v.Meets)
		}
		if !v.From.IsZero() {
			return text + " until " + rfc3339(v.From) + ", and will be above them from then on"
		}
		text += " for as long as the new layout lasts"
	}
	if v.Advice == nil {
		text += "; see docs/MIGRATION.md for layouts that keep apart"
	}
	return text
}
