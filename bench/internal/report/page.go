package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
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

// Note writes a paragraph, unless it is empty.
func (p *Page) Note(text string) {
	if text != "" {
		p.Text("%s", text)
	}
}

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
	Left int // columns that Markdown aligns left; it aligns the others right
	Rows [][]string
}

// NewTable returns a table without rows. Its first column is aligned left.
func NewTable(head ...string) *Table { return &Table{Head: head, Left: 1} }

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Table writes a table.
func (p *Page) Table(t *Table) {
	lines := append([][]string{t.Head}, t.Rows...)
	if !p.Markdown {
		w := tabwriter.NewWriter(p, 0, 0, 2, ' ', 0)
		for _, cells := range lines {
			fmt.Fprintln(w, strings.Join(cells, "\t"))
		}
		_ = w.Flush() // an error shows up in Flush of the page
		fmt.Fprintln(p)
		return
	}
	marks := slices.Repeat([]string{"---:"}, len(t.Head))
	copy(marks, slices.Repeat([]string{"---"}, t.Left))
	for _, cells := range slices.Insert(lines, 1, marks) {
		fmt.Fprintf(p, "| %s |\n", strings.Join(cells, " | "))
	}
	fmt.Fprintln(p)
}
