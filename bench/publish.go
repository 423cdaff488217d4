package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const reportUsage = `bench report runs compare, sweep, tail and soak one after the other and writes what they have found to a folder: README.md with
tables, each picture as SVG, each table as CSV, and all figures as JSON.

  go run ./bench report [flags]

  -full                each in its full form, some twenty minutes; without, all but compare in their quick form, two minutes or three
  -out DIR             the folder; it is made if need be (docs/benchmarks)
  -redraw              measure nothing: write the files anew from figures.json in the folder

Examples
  go run ./bench report -out report
  go run ./bench report -full
`

func reportCommand() command {
	return command{"report", "all of these, as a folder with tables and pictures", reportUsage, runReport}
}

type reportSettings struct {
	commandLine string
	full        bool
	out         string
	redraw      bool
}

// A reportParser reads the flags of report.
type reportParser struct {
	*parser
	s reportSettings
}

func newReportParser() *reportParser {
	p := &reportParser{newParser("bench report"), reportSettings{out: filepath.Join("docs", "benchmarks")}}
	p.toggle("full", &p.s.full)
	p.text("out", &p.s.out)
	p.toggle("redraw", &p.s.redraw)
	return p
}

func parseReport(args []string) (reportSettings, error) {
	p := newReportParser()
	err := p.parse(args, func() {
		if p.s.full && p.s.redraw {
			p.mistake("-full and -redraw: nothing is measured with the second, leave one out")
		}
	})
	p.s.commandLine = p.commandLine()
	return p.s, err
}

// figuresFile is where a report keeps what it was made from.
const figuresFile = "figures.json"

// results are the figures of a report.
type results struct {
	Command string      `json:"command"`
	Compare comparison  `json:"compare"`
	Sweep   sweepReport `json:"sweep"`
	Tail    tailReport  `json:"tail"`
	Soak    soakReport  `json:"soak"`
}

func runReport(ctx context.Context, args []string, stdout, _ io.Writer) error {
	s, err := parseReport(args)
	if err != nil {
		return err
	}
	var r results
	if s.redraw {
		r, err = readResults(filepath.Join(s.out, figuresFile))
	} else {
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

// measure runs the other commands.
func (s reportSettings) measure(ctx context.Context, stdout io.Writer) (results, error) {
	r := results{Command: s.commandLine}
	p := newProgress(settings{}, stdout)
	compareArgs, args := []string(nil), []string{"-quick"}
	if s.full {
		compareArgs, args = []string{"-rounds", "11", "-lap", "250ms"}, nil
	}
	steps := []struct {
		name string
		run  func() error
	}{
		{"compare", func() error { return measureInto(ctx, &r.Compare, compareArgs, p, parseCompare, compare) }},
		{"sweep", func() error { return measureInto(ctx, &r.Sweep, args, p, parseSweep, sweep) }},
		{"tail", func() error { return measureInto(ctx, &r.Tail, args, p, parseTail, tail) }},
		{"soak", func() error { return measureInto(ctx, &r.Soak, args, p, parseSoak, quietSoak) }},
	}
	for i, step := range steps {
		fmt.Fprintf(stdout, "report: %s (%d of %d)\n", step.name, i+1, len(steps))
		if err := step.run(); err != nil {
			return r, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return r, nil
}

// measureInto runs a command with args and keeps what it has measured.
func measureInto[S, R any](ctx context.Context, dst *R, args []string, p *progress, parse func([]string) (S, error),
	run func(context.Context, S, *progress) (R, error),
) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	*dst, err = run(ctx, s, p)
	return err
}

func quietSoak(ctx context.Context, s soakSettings, p *progress) (soakReport, error) {
	return soak(ctx, s, p, io.Discard)
}

func readResults(name string) (r results, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	if err := r.complete(); err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

// complete returns an error that names all that a report needs and r has not.
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
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, write := range [...]func() error{
		func() error { return saveCSV(filepath.Join(dir, "compare.csv"), r.Compare.Rows) },
		func() error { return saveCSV(filepath.Join(dir, "sweep.csv"), r.Sweep.Rows) },
		func() error { return saveCSV(filepath.Join(dir, "tail.csv"), r.Tail.Rows) },
		func() error { return saveCSV(filepath.Join(dir, "soak.csv"), r.Soak.Rows) },
		func() error {
			return writeFile(filepath.Join(dir, figuresFile), func(w io.Writer) error { return writeJSON(w, r) })
		},
		func() error { return writeFile(filepath.Join(dir, "README.md"), r.writeMarkdown) },
	} {
		if err := write(); err != nil {
			return err
		}
	}
	for _, picture := range r.pictures() {
		if err := os.WriteFile(filepath.Join(dir, picture.name+".svg"), []byte(picture.figure.SVG()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeFile makes a file, or makes it anew.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	err = write(f)
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}
