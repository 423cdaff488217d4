package cli

import (
	"strings"
	"testing"
)

func TestPlanJudgesAllLayouts(t *testing.T) {
	clean(t)
	args := strings.Fields("plan --rate 50000 --processes 40 --restarts-per-day 80 --years 5 --start 2026-11-21")
	wants(t, "", append(args, "--layout", "20/5/17/13"), exitOK, `
LAYOUT      WIDTHS          WORKER IDS  IDS/S A PROCESS     WORKERS             DATACENTERS    ENDS        VERDICT
default     28/5/17/13@1s   leased      8192 (84% left)     131072 (99% left)   32 (96% left)  2034-07-04  will do
default     28/5/17/13@1s   disposable  8192 (84% left)     131071 (too few)    32 (96% left)  2031-05-16  no: 131071 worker IDs, needs 146140
baidu       28/0/22/13@1s   leased      8192 (84% left)     4194304 (99% left)  1 (0% left)    2034-07-04  will do
baidu       28/0/22/13@1s   disposable  8192 (84% left)     4194303 (96% left)  1 (0% left)    2034-07-04  will do
snowflake   41/0/10/12@1ms  leased      4096000 (99% left)  1024 (92% left)     1 (0% left)    2095-09-07  will do
snowflake   41/0/10/12@1ms  disposable  4096000 (99% left)  1023 (too few)      1 (0% left)    2026-12-03  no: 1023 worker IDs, needs 146140
javascript  31/0/10/12@1s   leased      4096 (69% left)     1024 (92% left)     1 (0% left)    2094-01-19  will do
javascript  31/0/10/12@1s   disposable  4096 (69% left)     1023 (too few)      1 (0% left)    2026-12-03  no: 1023 worker IDs, needs 146140
given       20/5/17/13@1s   leased      8192 (84% left)     131072 (99% left)   32 (96% left)  2026-01-13  no: its time ends in 2026-01
given       20/5/17/13@1s   disposable  8192 (84% left)     131071 (too few)    32 (96% left)  2026-01-13  no: its time ends in 2026-01; 131071 worker IDs, needs 146140
fitted      33/0/13/17@1s   leased      131072 (99% left)   8192 (99% left)     1 (0% left)    2298-03-16  will do
fitted      30/0/20/13@1s   disposable  8192 (84% left)     1048575 (86% left)  1 (0% left)    2060-01-10  will do
`, "")
	type room struct{ Needed, Has float64 }
	answer := decode[struct {
		Layouts []struct {
			Name, Layout, WorkerIDs, Ends        string
			WillDo                               bool
			Faults                               []string
			RatePerProcess, Workers, Datacenters room
		}
	}](t, quietly(t, append(args, "--json")...))
	if len(answer.Layouts) != 10 {
		t.Fatalf("%d layouts, want those of the table", len(answer.Layouts))
	}
	if l := answer.Layouts[1]; l.Name != "default" || l.WorkerIDs != "disposable" || l.WillDo || len(l.Faults) != 1 || l.Workers != (room{146140, 131071}) ||
		l.RatePerProcess != (room{1250, 8192}) {
		t.Errorf("%+v", l)
	}
}

func TestPlanRefusesTheImpossible(t *testing.T) {
	clean(t)
	args := strings.Fields("plan --rate 1e9 --processes 100000 --datacenters 32 --years 100 --start 2026-01-01")
	code, out, err := run(t, "", args...)
	const want = "uidring: plan: no layout will do with leased worker IDs: delta takes 32 bits (3155760000 units of 1s), datacenter 5 (32), worker 18 (200000), " +
		"sequence 14 (10000 IDs a unit of a process): 69, allowed: 63; more processes at a lower rate each, a later epoch or fewer years take less\n"
	if code != exitFailure || err != want || strings.Count(out, "no: ") != 8 || strings.Contains(out, "will do\n") {
		t.Errorf("exit code %d, stderr %s, stdout\n%s", code, err, out)
	}
	if code, out, _ := run(t, "", append(args, "--json")...); code != exitFailure || !strings.Contains(out, `"willDo":false`) {
		t.Errorf("exit code %d, %s", code, out)
	}
}

// The fitted layout has the unit that is asked for; another one may do where it does not.
func TestPlanIsContentWithAPresetWhereNothingCanBeFitted(t *testing.T) {
	clean(t)
	code, out, err := run(t, "", strings.Fields("plan --rate 2e9 --processes 512 --years 68.5 --start 2026-11-21")...)
	if code != exitOK || err != "" || strings.Count(out, "will do\n") != 1 || strings.Contains(out, "fitted") {
		t.Errorf("exit code %d, stderr %q, stdout\n%s", code, err, out)
	}
}
