package main

import "io"

// An output is where the rows of a subcommand go.
type output struct {
	csv  string // a file that gets them, too; empty: none
	json bool   // in place of tables
}

func (o *output) flags(p *parser) {
	p.text("csv", &o.csv)
	p.toggle("json", &o.json)
}

// write writes the rows to the file, and the report that they are part of to w.
func write[R any](w io.Writer, o output, rows []R, report any, tables func(io.Writer) error) error {
	if o.csv != "" {
		if err := saveCSV(o.csv, rows); err != nil {
			return err
		}
	}
	if o.json {
		return writeJSON(w, report)
	}
	return tables(w)
}
