package cli

import (
	"errors"
	"fmt"
	"io"
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
		Short: "Find a layout for a rate, a number of processes and of years",
		Long: "plan shows for each layout whether it is sufficient (\"will do\"), the number of values of each field, and\n" +
			"when it ends. The layout fitted is made for the given numbers. Give rate and processes of the largest datacenter.\n\n" +
			"Worker IDs are leased: the layout needs twice as many as processes, since a killed process keeps its own for two\n" +
			"windows. plan prefers the first sufficient layout. The exit code is 1 when none is sufficient.",
		Example: "  uidring plan --rate 50000 --processes 40 --years 10\n" +
			"  uidring plan --rate 2000000 --processes 16 --datacenters 4 --layout 32/2/9/20",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.given = cmd.Flags().Changed("layout")
			return p.run(s)
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&p.need.Rate, "rate", 0, "sustained IDs per second of all processes together; required")
	_ = cmd.MarkFlagRequired("rate")
	flags.Int64Var(&p.need.Processes, "processes", 1, "processes that run at once")
	flags.Float64Var(&p.need.Years, "years", 10, "years that the layout has to last")
	flags.Int64Var(&p.need.Datacenters, "datacenters", 1, "datacenters that issue IDs")
	flags.Var(&p.start, "start", "time of the first ID (default now)")
	p.format.addTo(cmd)
	flags.Lookup("layout").Usage = "further `layout` to judge: widths such as 28/5/17/13@1s (UIDRING_LAYOUT)"
	flags.Lookup("layout").DefValue = ""
	s.addJSON(cmd)
	return cmd
}

// A planner is one call of uidring plan.
type planner struct {
	need   plan.Need
	start  timeFlag
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
	epoch := p.format.epoch.Time
	p.need.Start = p.start.Time
	if p.start.IsZero() {
		p.need.Start = time.Now().UTC().Truncate(time.Second)
	}
	_, errLayout := p.format.allocator()
	if err := errors.Join(p.need.Check(), errLayout); err != nil {
		return usageError{err}
	}
	if p.need.Start.Before(epoch) {
		return usagef("--start %s, allowed: not before --epoch %s", rfc3339(p.need.Start), rfc3339(epoch))
	}
	rows, errFit := p.judge()
	if i := slices.IndexFunc(rows, func(r judged) bool { return r.WillDo }); i >= 0 {
		rows[i].Preferred, errFit = true, nil
	}
	return errors.Join(s.print(map[string]any{"layouts": rows}, func(w io.Writer) { printPlan(w, rows) }), errFit)
}

// judge returns all rows, and an error when a layout cannot be fitted.
func (p *planner) judge() (rows []judged, errFit error) {
	judge := func(name string, layout bitsalloc.Layout) {
		alloc, err := bitsalloc.New(layout, p.format.epoch.Time)
		if err != nil {
			panic("bug: " + err.Error())
		}
		verdict := p.need.Judge(alloc)
		rows = append(rows, judged{Name: name, Verdict: verdict, WillDo: len(verdict.Faults) == 0})
	}
	const first = "recommended" // the default of the command
	others := slices.DeleteFunc(bitsalloc.PresetNames(), func(name string) bool { return name == first })
	for _, name := range append([]string{first}, others...) {
		layout, _ := bitsalloc.ParseLayout(name)
		judge(name, layout)
	}
	if p.given {
		judge("given", p.format.layout)
	}
	layout, errFit := p.need.Fit(time.Second, p.format.epoch.Time)
	if errFit == nil {
		judge("fitted", layout)
	}
	return rows, errFit
}

func printPlan(w io.Writer, rows []judged) {
	fmt.Fprintln(w, "LAYOUT\tWIDTHS\tIDS/S\tWORKERS\tDATACENTERS\tENDS\tVERDICT")
	for _, r := range rows {
		verdict := "will do"
		switch {
		case r.Preferred:
			verdict = "will do, preferred"
		case !r.WillDo:
			verdict = "no: " + strings.Join(r.Faults, "; ")
		}
		fmt.Fprintf(w, "%s\t%s\t%.0f\t%.0f\t%.0f\t%s\t%s\n", r.Name, r.Layout, r.Rate, r.Workers, r.Datacenters,
			r.Ends.Format(time.DateOnly), verdict)
	}
}
