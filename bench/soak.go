package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/bench/internal/count"
	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
)

// soakSettings are the flags of soak.
type soakSettings struct {
	output
	ids    int64
	only   []string
	worker int64 // of the first generator
	quick  bool
}

func newSoak(s *soakSettings) *cobra.Command {
	var modes strings.Builder
	for _, m := range soakModes() {
		fmt.Fprintf(&modes, "  %-14s %s\n", m.name, m.summary)
	}
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Take 10^9 IDs in every mode, and count each exactly once",
		Long: "soak takes IDs in every mode and counts each in a bitmap: a duplicate, an ID out of order, or an ID of another\n" +
			"worker ends the program with exit code 1. At the end of each mode the generator's accounts have to agree with\n" +
			"the bitmap. The modes are\n\n" + modes.String() + "\n" +
			"The bitmap of a mode takes up to 256 MiB, however many IDs there are. If IDs were retired, soak then closes the\n" +
			"oldest part of it, and an ID of that part is an error.",
		Example: "  go run ./bench soak\n" +
			"  go run ./bench soak --ids 10_000_000_000 --only next,lanes",
	}
	s.only, s.worker = soakNames(), 1
	add(cmd, &s.ids, "ids", "N", "", "IDs to take in each mode, at least (default 1000000000, with --quick 20000000)", number(1, int64(math.MaxInt64)))
	add(cmd, &s.only, "only", "LIST", "", "modes, separated by commas (default all)", several(soakNames()))
	cmd.Flags().BoolVar(&s.quick, "quick", false, "fewer IDs")
	measures(&s.output, cmd, s.measure)
	return cmd
}

// A soakReport is the result of soak.
type soakReport struct {
	report.Facts
	Rows  []soakRow `json:"rows"`
	Total soakTotal `json:"total"`
}

// measure runs the modes.
func (s *soakSettings) measure(ctx context.Context, p *report.Progress) (soakReport, error) {
	r := soakReport{Facts: s.facts()}
	target := pick(s.quick, s.ids, 1_000_000_000, 20_000_000)
	for i, mode := range soakModes() {
		if !slices.Contains(s.only, mode.name) {
			continue
		}
		c := count.Counting{Load: load.Load{Goroutines: mode.goroutines}, Target: target, Unordered: mode.unordered}
		err := p.Show(mode.summary, target, c.Taken.Load, func() error {
			row, err := mode.run(ctx, &c, s.worker+int64(i))
			r.Rows = append(r.Rows, row)
			return err
		})
		if err != nil {
			return r, fmt.Errorf("soak: %s: %w", mode.name, err)
		}
	}
	r.Total = totalOf(r.Rows)
	return r, nil
}

func (r soakReport) print(p *report.Page) {
	p.Facts(r.Facts, "soak.csv")
	p.Text("%s", r.Total)
	t := report.NewTable("mode", "goroutines", "IDs, all new", "time", "per ID", "put", "retired", "rejected", "inline pads", "bitmap")
	for _, row := range r.Rows {
		t.Add(row.cells()...)
	}
	p.Table(t)
}

func (r soakRow) cells() []string {
	put, retired, pads := report.None, report.None, report.None // without a ring
	if r.Put > 0 {
		put, retired, pads = report.Comma(r.Put), report.Comma(r.Retired), report.Comma(r.InlinePads)
	}
	return []string{r.Summary, report.Comma(r.Goroutines), report.Comma(r.Different), report.Elapsed(r.Seconds), report.Ns(r.NsPerID),
		put, retired, report.Comma(r.Rejected), pads, report.Size(r.Bitmap)}
}

// A soakTotal is the sum over all modes.
type soakTotal struct {
	Modes      int     `json:"modes"`
	IDs        int64   `json:"ids"`
	Duplicates int64   `json:"duplicates"`
	Seconds    float64 `json:"seconds"`
}

func totalOf(rows []soakRow) (t soakTotal) {
	for _, r := range rows {
		t.Modes++
		t.IDs += r.IDs
		t.Duplicates += r.IDs - r.Different
		t.Seconds += r.Seconds
	}
	return t
}

func (t soakTotal) String() string {
	return fmt.Sprintf("%s, %s IDs, each counted in a bitmap, %s, %s; all IDs put into a ring were issued, retired, or remained.",
		report.Counted(t.Modes, "mode"), report.Comma(t.IDs), report.Counted(t.Duplicates, "duplicate"), report.Elapsed(t.Seconds))
}

// errMiscount is the error if the accounts of a generator and the bitmap differ.
var errMiscount = errors.New("miscount")

// A soakRow is the result of one mode.
type soakRow struct {
	Mode       string  `json:"mode"`
	Summary    string  `json:"summary"`
	Goroutines int     `json:"goroutines"`
	Layout     string  `json:"layout"`
	IDs        int64   `json:"ids" jsonschema:"IDs taken"`
	Different  int64   `json:"different" jsonschema:"different IDs, counted in the bitmap"`
	Seconds    float64 `json:"seconds"`
	NsPerID    float64 `json:"ns_per_id" jsonschema:"wall time, counting included"`
	Bitmap     int64   `json:"bitmap_bytes"`
	accounts
}

// accounts are a generator's counts of the IDs that were put into its ring.
type accounts struct {
	Put       int64 `json:"put" jsonschema:"IDs put into the ring, counted in Trace.Padded; 0: no ring"`
	Issued    int64 `json:"issued"`
	Retired   int64 `json:"retired"`
	Remaining int64 `json:"remaining"`

	Rejected      int64 `json:"rejected" jsonschema:"takes"`
	InlinePads    int64 `json:"inline_pads"`
	PaddingPasses int64 `json:"padding_passes"`
}

// settle compares the IDs taken with the bitmap and with the generator's accounts.
func (r soakRow) settle() error {
	switch accounted := r.Issued + r.Retired + r.Remaining; {
	case r.Different != r.IDs:
		return fmt.Errorf("%w: %d IDs taken, %d different ones counted", errMiscount, r.IDs, r.Different)
	case r.Put == 0: // no ring, no accounts
		return nil
	case r.Issued != r.IDs:
		return fmt.Errorf("%w: %d IDs taken, %d issued by the generator", errMiscount, r.IDs, r.Issued)
	case r.Put != accounted:
		return fmt.Errorf("%w: %d IDs put, but %d issued, %d retired and %d remaining make %d",
			errMiscount, r.Put, r.Issued, r.Retired, r.Remaining, accounted)
	}
	return nil
}

// run takes IDs until there are enough, and counts each.
func (m soakMode) run(ctx context.Context, c *count.Counting, worker int64) (row soakRow, err error) {
	sub, err := m.open(worker)
	if err != nil {
		return row, err
	}
	r, err := c.Run(ctx, sub.Subject)
	accounts, closeErr := sub.close()
	if err := errors.Join(err, closeErr); err != nil {
		return row, err
	}
	row = soakRow{
		Mode:       m.name,
		Summary:    m.summary,
		Goroutines: m.goroutines,
		Layout:     sub.Alloc.Layout().String(),
		IDs:        r.IDs,
		Different:  r.Different,
		Seconds:    r.Wall.Seconds(),
		NsPerID:    float64(r.Wall.Nanoseconds()) / float64(r.IDs),
		Bitmap:     r.Bytes,
		accounts:   accounts,
	}
	return row, row.settle()
}

// A subject is a generator under test that returns its accounts at the end.
type subject struct {
	count.Subject
	close func() (accounts, error)
}

// newSubject makes a generator of package cached.
func newSubject(cfg cached.Config, use useFunc) (subject, error) {
	var blocks atomic.Int64
	cfg.Trace.Padded = func(info cached.PaddedInfo) { blocks.Add(int64(info.Blocks)) }
	alloc, err := bitsalloc.New(cfg.Layout, cfg.Epoch)
	if err != nil {
		return subject{}, err
	}
	gen, err := cached.New(cfg)
	if err != nil {
		return subject{}, err
	}
	consumer := func(goroutine int) count.Consumer { return use(gen, goroutine) }
	return subject{count.Subject{Alloc: alloc, Holder: gen.WorkerID, First: gen.Next, Consumer: consumer}, func() (accounts, error) {
		err := gen.Close() // waits for padding passes that have not called Trace.Padded yet
		s := gen.Stats()
		return accounts{
			Put:           blocks.Load() << cfg.Layout.SequenceBits,
			Issued:        s.Issued,
			Retired:       s.Retired,
			Remaining:     int64(s.Remaining + s.Retiring),
			Rejected:      s.RejectedTakes,
			InlinePads:    s.InlinePads,
			PaddingPasses: s.PaddingPasses,
		}, err
	}}, nil
}

// newClockSubject makes a generator of package defaultgen. It has no ring and keeps no accounts.
func newClockSubject(cfg defaultgen.Config, use func(*defaultgen.Generator) count.Consumer) (subject, error) {
	alloc, err := bitsalloc.New(cfg.Layout, cfg.Epoch)
	if err != nil {
		return subject{}, err
	}
	gen, err := defaultgen.New(cfg)
	if err != nil {
		return subject{}, err
	}
	consumer := func(int) count.Consumer { return use(gen) }
	return subject{count.Subject{Alloc: alloc, Holder: gen.WorkerID, First: gen.Next, Consumer: consumer}, func() (accounts, error) {
		err := gen.Close()
		return accounts{Rejected: gen.Stats().RejectedTakes}, err
	}}, nil
}
