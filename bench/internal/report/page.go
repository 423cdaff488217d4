package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/klauspost/cpuid/v2"
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

// Facts head the results of a command.
type Facts struct {
	Command    string // command line
	GOMAXPROCS int
	line       string // with the machine, the Go version, the date and the commit
}

// NewFacts returns the facts of a measurement that begins now.
func NewFacts(commandLine string) Facts {
	cpu := cmp.Or(strings.Join(strings.Fields(cpuid.CPU.BrandName), " "), "unknown CPU")
	procs := runtime.GOMAXPROCS(0)
	return Facts{commandLine, procs, fmt.Sprintf("%s, %s, GOMAXPROCS %d, %s %s/%s, %s, commit %s", cpu, Counted(runtime.NumCPU(), "CPU"), procs,
		runtime.Version(), runtime.GOOS, runtime.GOARCH, time.Now().UTC().Format("2006-01-02 15:04 MST"), commit())}
}

// String returns all facts but the command in one line.
func (f Facts) String() string { return f.line }

// commit returns the version of an installed program. go run records none: then it returns the
// commit of the working tree, with " and changes" unless the tree is as committed, or "unknown".
func commit() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Sum != "" {
		return info.Main.Version
	}
	out, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	revision := strings.TrimSpace(string(out))
	// The report itself may be the change: an earlier run has written it.
	if exec.Command("git", "diff", "--quiet", "HEAD", "--", ":/", ":(top,exclude)docs/benchmarks").Run() != nil {
		revision += " and changes"
	}
	return revision
}
