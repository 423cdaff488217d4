package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// A Page is text with tables, for a terminal or in Markdown. Errors show up in Flush.
type Page struct {
	*bufio.Writer
	Markdown bool
}

// NewPage returns a page for a terminal.
func NewPage(w io.Writer) *Page { return &Page{Writer: bufio.NewWriter(w)} }

// Facts begins the results of a command; csv is the name of a file with all figures.
func (p *Page) Facts(f Facts, csv string) {
	if p.Markdown {
		p.Text("`go run ./%s`, %s; all figures: [%s](%[3]s).", f.Command, f.Date.Format("2006-01-02 15:04 MST"), csv)
		return
	}
	m := f.Machine
	fmt.Fprintf(p, "%s\n%s, %s %s/%s, %s, %s, GOMAXPROCS %d, %s\n", f.Command, f.Date.Format(time.RFC3339), m.GoVersion, m.OS, m.Arch, m.CPU,
		Counted(m.CPUs, "CPU"), m.GOMAXPROCS, f.Measured())
}

// Text writes a paragraph.
func (p *Page) Text(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
	if p.Markdown {
		fmt.Fprintln(p)
	}
}

// Title begins a part.
func (p *Page) Title(format string, args ...any) {
	if p.Markdown {
		format = "### " + format
	} else {
		fmt.Fprintln(p)
	}
	p.Text(format, args...)
}

// Picture shows a file, in Markdown only.
func (p *Page) Picture(file, alt string) {
	if p.Markdown {
		p.Text("<img src=%q width=\"860\" alt=%q>", file, alt)
	}
}

// Table writes a table.
func (p *Page) Table(t *Table) {
	lines := append([][]string{t.Head}, t.Rows...)
	if p.Markdown {
		marks := make([]string, len(t.Head))
		for i := range marks {
			marks[i] = "---"
			if i >= t.Left {
				marks[i] += ":"
			}
		}
		for _, cells := range append([][]string{t.Head, marks}, t.Rows...) {
			fmt.Fprintf(p, "| %s |\n", strings.ReplaceAll(strings.ReplaceAll(strings.Join(cells, "\x00"), "|", `\|`), "\x00", " | "))
		}
		fmt.Fprintln(p)
		return
	}
	if t.Widths == nil {
		t.Widths = make([]int, len(t.Head))
		for _, cells := range lines {
			for i, cell := range cells {
				t.Widths[i] = max(t.Widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	if t.Head == nil {
		lines = lines[1:]
	}
	for _, cells := range lines {
		p.line(t, cells)
	}
}

func (p *Page) line(t *Table, cells []string) {
	var line strings.Builder
	for i, cell := range cells {
		gap := strings.Repeat(" ", max(0, t.Widths[i]-utf8.RuneCountInString(cell)))
		if i < t.Left {
			line.WriteString("  " + cell + gap)
		} else {
			line.WriteString("  " + gap + cell)
		}
	}
	fmt.Fprintln(p, strings.TrimRight(line.String(), " "))
}

// A Table has a head and rows of as many cells.
type Table struct {
	Head   []string
	Left   int // columns that are aligned left; the others are aligned right
	Rows   [][]string
	Widths []int // of the columns on a terminal; nil: as wide as the widest cell
}

// NewTable returns a table without rows. Its first column is aligned left.
func NewTable(head ...string) *Table { return &Table{Head: head, Left: 1} }

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }
