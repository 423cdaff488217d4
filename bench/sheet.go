package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A sheet is a table for people.
type sheet struct {
	heads []string
	left  int // columns that begin at a fixed place; the others end there
	rows  [][]string
}

func (s *sheet) add(cells ...string) { s.rows = append(s.rows, cells) }

// writeText writes s for a terminal.
func (s *sheet) writeText(w io.Writer) error {
	lines := append([][]string{s.heads}, s.rows...)
	widths := make([]int, len(s.heads))
	for _, cells := range lines {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range lines {
		var line strings.Builder
		for i, cell := range cells {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < s.left {
				line.WriteString("  " + cell + gap)
			} else {
				line.WriteString("  " + gap + cell)
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// writeMarkdown writes s as a table of Markdown.
func (s *sheet) writeMarkdown(w io.Writer) error {
	marks := make([]string, len(s.heads))
	for i := range marks {
		marks[i] = "---"
		if i >= s.left {
			marks[i] = "---:"
		}
	}
	for _, cells := range append([][]string{s.heads, marks}, s.rows...) {
		var line strings.Builder
		line.WriteString("|")
		for _, cell := range cells {
			line.WriteString(" " + strings.ReplaceAll(cell, "|", `\|`) + " |")
		}
		if _, err := fmt.Fprintln(w, line.String()); err != nil {
			return err
		}
	}
	return nil
}
