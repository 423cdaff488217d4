package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uidring/internal/plan"
)

func newPlan(s *streams) *cobra.Command {
	var p planner
	cmd := &cobra.Command{
		Use:   "plan --rate N",
		Short: "Find a layout for a rate, a number of processes and a number of years",
		Long: "plan shows for each layout whether it is sufficient (\"will do\"), the part of each field that is left over, and\n" +
			"when it ends. The layout fitted is made for the given numbers: each field is as wide as necessary, and the spare\n" +
			"bits are shared out. Give rate, processes and restarts of the largest datacenter.\n\n" +
			"plan judges each layout with two kinds of worker IDs. Leased worker IDs are used again. A killed process keeps its\n" +
			"worker ID for two windows, so the layout needs twice as many worker IDs as processes. Disposable worker IDs, of\n" +
			"the table WORKER_NODE, are used for one start only. Of the sufficient layouts plan prefers the preset leased with\n" +
			"leased worker IDs, else the first with leased worker IDs, else the first.\n\n" +
			"The exit code is 1 when no layout is sufficient with either kind.",
		Example: "  uidring plan --rate 50000 --processes 40 --restarts-per-day 80 --years 10\n" +
			"  uidring plan --rate 2000000 --processes 16 --datacenters 4 --layout 32/2/9/20",
		Args: exactly(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("rate") {
				return usagef("--rate is missing, allowed: IDs per second of all processes of a datacenter together")
			}
			p.given = sourceOf(cmd.Flags().Lookup("layout")) != "default"
			return p.run(s)
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&p.need.Rate, "rate", 0, "sustained IDs per second of all processes together")
	flags.Int64Var(&p.need.Processes, "processes", 1, "processes that run at once")
	flags.Float64Var(&p.need.RestartsPerDay, "restarts-per-day", 1, "starts per day of all processes together")
	flags.Float64Var(&p.need.Years, "years", 10, "years that the layout has to last")
	flags.Int64Var(&p.need.Datacenters, "datacenters", 1, "datacenters that issue IDs")
	flags.Var(&p.start, "start", "time of the first ID (default now)")
	flags.DurationVar(&p.unit, "unit", time.Second, "unit of the fitted layout")
	p.format.addTo(cmd)
	flags.Lookup("layout").Usage = "further layout to judge: widths such as 28/5/17/13@1s (UIDRING_LAYOUT)"
	flags.Lookup("layout").DefValue = ""
	s.addJSON(cmd)
	return cmd
}

// A planner is one call of uidring plan.
type planner struct {
	need   plan.Need
	start  timeFlag
	unit   time.Duration
	format idFormat
	given  bool // --layout is given
}

// A judged layout is a row of the answer.
type judged struct {
	Name string `json:"name"`
	plan.Verdict
	WillDo    bool `json:"willDo"`
	Preferred bool `json:"preferred"`
}

func (p *planner) run(s *streams) error {
	p.need.Start = p.start.Time
	if p.start.IsZero() {
		p.need.Start = time.Now().UTC().Truncate(time.Second)
	}
	if err := p.need.Check(); err != nil {
		return usageError{err}
	}
	if _, err := bitsalloc.New(bitsalloc.Layout{DeltaBits: 1, Unit: p.unit}, p.format.epoch.Time); err != nil {
		return usageError{err}
	}
	if p.need.Start.Before(p.format.epoch.Time) {
		return usagef("--start %s, allowed: not before --epoch %s", rfc3339(p.need.Start), rfc3339(p.format.epoch.Time))
	}
	rows, impossible, err := p.judge()
	value := struct {
		Layouts    []judged `json:"layouts"`
		Impossible []unfit  `json:"impossible,omitempty"`
	}{rows, impossible}
	return errors.Join(s.print(value, func() error { return p.table(s, rows, impossible) }), err)
}

// A preset is a layout with a name.
type preset struct {
	name   string
	layout bitsalloc.Layout
}

// An unfit is a kind of worker IDs with which 63 bits are not enough.
type unfit struct {
	Source plan.Source `json:"workerIds"`
	Reason string      `json:"reason"`
}

// judge returns all rows, the fitted layouts that there are not, and an error when no layout is
// sufficient.
func (p *planner) judge() (rows []judged, impossible []unfit, err error) {
	var candidates []preset
	for _, name := range bitsalloc.PresetNames() {
		layout, err := bitsalloc.ParseLayout(name)
		if err != nil {
			return nil, nil, err
		}
		candidates = append(candidates, preset{name, layout})
	}
	if p.given {
		candidates = append(candidates, preset{"given", p.format.layout.Layout})
	}
	sources := [...]plan.Source{plan.Leased, plan.Disposable}
	for _, candidate := range candidates {
		for _, source := range sources {
			rows = append(rows, p.row(candidate, source))
		}
	}
	var failed error // the first; the errors are alike
	for _, source := range sources {
		layout, err := p.need.Fit(p.unit, p.format.epoch.Time, source)
		if err != nil {
			failed = cmp.Or(failed, err)
			_, reason, _ := strings.Cut(err.Error(), "worker IDs: ")
			impossible = append(impossible, unfit{source, reason})
			continue
		}
		rows = append(rows, p.row(preset{"fitted", layout}, source))
	}
	if i := preferred(rows); i >= 0 {
		rows[i].Preferred = true
	} else if len(impossible) == len(sources) {
		err = failed
	}
	return rows, impossible, err
}

// preferred returns the index of the row to choose, or -1 if no layout is sufficient.
func preferred(rows []judged) int {
	for _, wanted := range [...]func(judged) bool{
		func(r judged) bool { return r.Name == presetLeased && r.Source == plan.Leased },
		func(r judged) bool { return r.Source == plan.Leased },
		func(judged) bool { return true },
	} {
		if i := slices.IndexFunc(rows, func(r judged) bool { return r.WillDo && wanted(r) }); i >= 0 {
			return i
		}
	}
	return -1
}

func (p *planner) row(candidate preset, source plan.Source) judged {
	alloc, err := bitsalloc.New(candidate.layout, p.format.epoch.Time)
	if err != nil {
		panic("bug: " + err.Error())
	}
	verdict := p.need.Judge(alloc, source)
	return judged{Name: candidate.name, Verdict: verdict, WillDo: len(verdict.Faults) == 0}
}

func (p *planner) table(s *streams, rows []judged, impossible []unfit) error {
	t := s.table("LAYOUT", "WIDTHS", "WORKER IDS", "IDS/S A PROCESS", "WORKERS", "DATACENTERS", "ENDS", "VERDICT")
	for _, row := range rows {
		verdict := s.paint(s.out, green, "will do")
		switch {
		case row.Preferred:
			verdict = s.paint(s.out, green, "will do, preferred")
		case !row.WillDo:
			verdict = s.paint(s.out, red, "no:") + " " + strings.Join(row.Faults, "; ")
		}
		t.row(row.Name, row.Layout.String(), string(row.Source), room(row.Rate), room(row.Workers), room(row.Datacenters),
			row.Ends.Format(time.DateOnly), verdict)
	}
	for _, u := range impossible {
		t.row("fitted", "-", string(u.Source), "-", "-", "-", "-", s.paint(s.out, red, "no:")+" "+u.Reason)
	}
	return t.print()
}

// room formats the size of a field, and the part of it that is left.
func room(r plan.Room) string {
	if r.Needed > r.Has {
		return fmt.Sprintf("%.0f (too few)", r.Has)
	}
	return fmt.Sprintf("%.0f (%.0f%% left)", r.Has, math.Floor(r.Left()))
}
