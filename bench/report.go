package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"

	"github.com/uidring/uidring/bench/internal/report"
)

// reportSettings are the flags of report.
type reportSettings struct {
	cmd    *cobra.Command
	full   bool
	out    string
	redraw bool
}

func newReport(s *reportSettings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Run all of these, and write a folder with tables and pictures",
		Long: "report runs compare, sweep, tail and soak one after the other and writes the results to a folder: README.md with\n" +
			"tables, pictures as SVG, each table as CSV, and all figures as JSON with a schema.",
		Example: "  go run ./bench report --out report\n" +
			"  go run ./bench report --full",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.full && s.redraw {
				return &usageError{errors.New("--full and --redraw: --redraw measures nothing, leave one out")}
			}
			return s.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	s.cmd = cmd
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&s.full, "full", false, "run each in its full form, about 20 minutes; without it, all but compare in their quick\nform, 2 to 3 minutes")
	add(cmd, &s.out, "out", "DIR", filepath.Join("docs", "benchmarks"), "the folder, created if missing", path)
	cmd.Flags().BoolVar(&s.redraw, "redraw", false, "measure nothing: rewrite the files from figures.json in the folder")
	return cmd
}

// figuresFile has all figures of a report, and schemaFile their JSON schema.
const (
	figuresFile = "figures.json"
	schemaFile  = "figures.schema.json"
)

// results are the figures of a report.
type results struct {
	Command string      `json:"command"`
	Compare comparison  `json:"compare"`
	Sweep   sweepReport `json:"sweep"`
	Tail    tailReport  `json:"tail"`
	Soak    soakReport  `json:"soak"`
}

func (s *reportSettings) run(ctx context.Context, stdout io.Writer) (err error) {
	var r results
	if s.redraw {
		r, err = readResults(filepath.Join(s.out, figuresFile))
	} else if err = writable(s.out); err == nil {
		r, err = s.measure(ctx, stdout)
	}
	if err != nil {
		return err
	}
	if err := r.publish(s.out); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "report: %s\n", filepath.Join(s.out, "README.md"))
	return nil
}

// writable makes the folder, and a file in it, before minutes of measurement depend on that.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	f, err := os.CreateTemp(dir, ".bench-")
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// measure runs the other commands.
func (s *reportSettings) measure(ctx context.Context, stdout io.Writer) (r results, err error) {
	r.Command = commandLine(s.cmd)
	compareArgs, args := []string(nil), []string{"--quick"}
	if s.full {
		compareArgs, args = []string{"--rounds", "11", "--lap", "250ms"}, nil
	}
	p := report.NewProgress(stdout, false)
	step := func(name string, measure func() error) {
		if err == nil {
			fmt.Fprintf(stdout, "report: %s\n", name)
			if err = measure(); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	step("compare, 1 of 4", func() error { return into(ctx, &r.Compare, newCompare, (*compareSettings).measure, compareArgs, p) })
	step("sweep, 2 of 4", func() error { return into(ctx, &r.Sweep, newSweep, (*sweepSettings).measure, args, p) })
	step("tail, 3 of 4", func() error { return into(ctx, &r.Tail, newTail, (*tailSettings).measure, args, p) })
	step("soak, 4 of 4", func() error { return into(ctx, &r.Soak, newSoak, (*soakSettings).measure, args, p) })
	return r, err
}

// into runs a command with args and stores its result in dst.
func into[S, R any](ctx context.Context, dst *R, command func(*S) *cobra.Command,
	measure func(*S, context.Context, *report.Progress) (R, error), args []string, p *report.Progress,
) (err error) {
	s := new(S)
	if err := command(s).ParseFlags(args); err != nil {
		return err
	}
	*dst, err = measure(s, ctx, p)
	return err
}

func readResults(name string) (r results, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return r, err
	}
	if err = json.Unmarshal(text, &r); err == nil {
		err = r.complete()
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// complete returns an error that names all rows that the pictures need and r lacks.
func (r results) complete() error {
	var missing []error
	need := func(there bool, format string, args ...any) {
		if !there {
			missing = append(missing, fmt.Errorf("no rows of "+format, args...))
		}
	}
	for _, name := range lineNames() {
		row, ok := r.Compare.find(name, 1)
		need(ok && row.Laps > 0, "compare, %s on 1 goroutine", name)
	}
	for _, name := range sweepNames() {
		need(len(r.Sweep.of(name)) > 0, "sweep, %s", name)
	}
	for _, row := range r.Compare.Rows {
		need(row.Goroutines > 0 && (row.Laps == 0 || row.NsPerID > 0), "compare with times above 0: %s on %d goroutines", row.Name, row.Goroutines)
	}
	for _, row := range r.Sweep.Rows {
		need(row.Goroutines > 0 && row.NsPerID > 0 && row.AtomicAddNs > 0, "sweep with times above 0: %s, %s", row.Sweep, row.label())
	}
	need(len(r.Tail.Rows) > 0, "tail")
	need(len(r.Soak.Rows) > 0, "soak")
	return errors.Join(missing...)
}

// publish writes the files of the report.
func (r results) publish(dir string) error {
	schema, err := jsonschema.For[results](nil)
	if err != nil {
		return err
	}
	schema.Schema, schema.Title = "https://json-schema.org/draft/2020-12/schema", "Figures of go run ./bench report"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	errs := []error{
		writeCSV(file("compare.csv"), r.Compare.Rows),
		writeCSV(file("sweep.csv"), r.Sweep.Rows),
		writeCSV(file("tail.csv"), r.Tail.Rows),
		writeCSV(file("soak.csv"), r.Soak.Rows),
		writeFile(file(figuresFile), func(w io.Writer) error { return report.WriteJSON(w, r) }),
		writeFile(file(schemaFile), func(w io.Writer) error { return report.WriteJSON(w, schema) }),
		writeFile(file("README.md"), r.writeMarkdown),
	}
	for name, figure := range r.pictures() {
		errs = append(errs, os.WriteFile(file(name+".svg"), []byte(figure.SVG()), 0o644))
	}
	return errors.Join(errs...)
}

func writeCSV[R any](name string, rows []R) error {
	return writeFile(name, func(w io.Writer) error { return report.WriteCSV(w, rows) })
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// writeMarkdown writes the text of the report.
func (r results) writeMarkdown(w io.Writer) error {
	p, m := report.NewPage(w), r.Compare.Machine
	p.Markdown = true
	p.Text("# Benchmarks")
	p.Text("Written by `go run ./%s` on %s (%s, GOMAXPROCS %d), %s %s/%s, %s,\n"+
		"%s. Below each heading is the command that measures that part alone. The figures of one table\n"+
		"were measured in turns, so that noise of the machine hits all of them alike. Read ratios rather than nanoseconds. The\n"+
		"atomic add is the same code everywhere; each table has its own figure, of its own rounds, since the speed of a machine\n"+
		"changes. All figures: [%s](%[10]s), described by a [schema](%[11]s).",
		r.Command, m.CPU, report.Counted(m.CPUs, "CPU"), m.GOMAXPROCS, m.GoVersion, m.OS, m.Arch, r.Compare.Date.Format("2006-01-02"), r.Compare.Measured(), figuresFile, schemaFile)
	for _, part := range [...]struct {
		title string
		print func(*report.Page)
	}{
		{"Beside other libraries", r.Compare.print},
		{"Settings", r.Sweep.print},
		{"Latency of single calls", r.Tail.print},
		{"Every ID counted", r.Soak.print},
	} {
		p.Text("## %s", part.title)
		part.print(p)
	}
	return p.Flush()
}
