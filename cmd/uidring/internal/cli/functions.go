package cli

import (
	_ "embed"
	"io"
	"math"
	"text/template"

	"github.com/uidring/uidring/bitsalloc"
)

// printFunctions prints the SQL functions of a database for the IDs of a layout and epoch.
func printFunctions(w io.Writer, database string, alloc *bitsalloc.Allocator) error {
	l := alloc.Layout()
	shift := l.DatacenterBits + l.WorkerBits + l.SequenceBits
	return functions.ExecuteTemplate(w, database, map[string]any{
		"Layout": l, "Epoch": alloc.Epoch().Format("2006-01-02 15:04:05.000"), "Unit": l.Unit.Milliseconds(),
		"Shift": shift, "Step": int64(1) << shift, "MaxDelta": alloc.MaxDelta(), "After": int64(min(uint64(alloc.MaxDelta()+1)<<shift, math.MaxInt64)),
		"DatacenterShift": l.WorkerBits + l.SequenceBits, "MaxDatacenter": alloc.MaxDatacenterID(),
		"WorkerShift": l.SequenceBits, "MaxWorker": alloc.MaxWorkerID(), "MaxSequence": alloc.MaxSequence(),
	})
}

// functions has a template for each database. uidring_at agrees with MinAt of package bitsalloc,
// the others with Parse.
var functions = template.Must(template.New("").Parse(functionsSQL))

//go:embed functions.tmpl
var functionsSQL string
