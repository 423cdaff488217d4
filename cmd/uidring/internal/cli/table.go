package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// A table prints aligned columns on a terminal, and otherwise tab-separated rows. Only the last
// column may contain colours: escape sequences would count as width.
type table struct {
	s    *streams
	head []string // may be nil
	rows [][]string
}

func (s *streams) table(head ...string) *table { return &table{s: s, head: head} }

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// print writes the table. On a terminal the header is bold, and a table without rows is "none".
func (t *table) print() error {
	rows := t.rows
	if !t.s.tables {
		for _, row := range rows {
			if err := write(t.s.out, "%s\n", strings.Join(row, "\t")); err != nil {
				return err
			}
		}
		return nil
	}
	if len(rows) == 0 {
		return write(t.s.out, "none\n")
	}
	if t.head != nil {
		rows = slices.Insert(slices.Clone(rows), 0, t.head)
	}
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i, line := range strings.Split(strings.TrimRight(text.String(), "\n"), "\n") {
		line := strings.TrimRight(line, " ")
		if i == 0 && t.head != nil {
			line = t.s.paint(t.s.out, bold, line)
		}
		if err := write(t.s.out, "%s\n", line); err != nil {
			return err
		}
	}
	return nil
}
