package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A Page is text with tables, for a terminal or in Markdown. Errors show up in Flush.
type Page struct {
	*bufio.Writer
	Markdown bool
}

// NewPage returns a page for a terminal.
func NewPage(w io.Writer) *Page { return &Page{Writer: bufio.NewWriter(w)} }

// Facts writes the command, the machine, the Go version and the date of a measurement.
func (p *Page) Facts(f Facts) {
	if p.Markdown {
		p.Text("`go run ./%s`, %v.", f.Command, f)
		return
	}
	p.Text("%s\n%v", f.Command, f)
}

// Text writes a paragraph.
func (p *Page) Text(format string, args ...any) { fmt.Fprintf(p, format+"\n\n", args...) }

// Title begins a part.
func (p *Page) Title(text string) {
	if p.Markdown {
		text = "## " + text
	}
	p.Text("%s", text)
}

// Picture shows a file, in Markdown only.
func (p *Page) Picture(file, alt string) {
	if p.Markdown {
		p.Text("<img src=%q width=\"860\" alt=%q>", file, alt)
	}
}

// A Table has a head and rows of as many cells.
type Table struct {
	Head []string
	Left int // columns that are aligned left; the others are aligned right
	Rows [][]string
}

// NewTable returns a table without rows. Its first column is aligned left.
func NewTable(head ...string) *Table { return &Table{Head: head, Left: 1} }

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Table writes a table.
func (p *Page) Table(t *Table) {
	lines := append([][]string{t.Head}, t.Rows...)
	widths, marks := make([]int, len(t.Head)), make([]string, len(t.Head))
	for i := range t.Head {
		marks[i] = "---"
		if i >= t.Left {
			marks[i] += ":"
		}
		for _, cells := range lines {
			widths[i] = max(widths[i], utf8.RuneCountInString(cells[i]))
		}
	}
	for k, cells := range lines {
		if p.Markdown {
			fmt.Fprintf(p, "| %s |\n", strings.Join(cells, " | "))
			if k == 0 {
				fmt.Fprintf(p, "| %s |\n", strings.Join(marks, " | "))
			}
			continue
		}
		var line strings.Builder
		for i, cell := range cells {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < t.Left {
				line.WriteString(cell + gap + "  ")
			} else {
				line.WriteString(gap + cell + "  ")
			}
		}
		fmt.Fprintln(p, strings.TrimRight(line.String(), " "))
	}
	fmt.Fprintln(p)
}
