package cli

import (
	"strings"
	"testing"
)

// A planAnswer is all of plan's JSON.
type planAnswer struct {
	Layouts []struct {
		Name, Layout, Ends                   string
		WillDo, Preferred                    bool
		Faults                               []string
		RatePerProcess, Workers, Datacenters float64
	}
}

func TestPlanPrefers(t *testing.T) {
	clean(t)
	for _, row := range []struct{ name, args, want string }{
		{"leased preset", "--rate 40e6 --processes 40 --years 60", "recommended"},
		{"half of its worker IDs", "--rate 1 --processes 2048", "recommended"},
		{"more processes than that", "--rate 1 --processes 2049 --years 7", "default"},
		{"several datacenters", "--rate 1 --datacenters 2 --years 7", "default"},
		{"more processes than Default has", "--rate 1 --processes 70000 --years 7", "baidu"},
		{"more than a million IDs a second", "--rate 2e6", "snowflake"},
		{"none of the presets", "--rate 8192e3 --processes 3000 --datacenters 2", "fitted"},
		{"no layout can be fitted", "--rate 2e9 --processes 512 --years 68.5", "snowflake"},
		{"none", "--rate 1e9 --processes 100000 --datacenters 32 --years 100 --start 2026-01-01", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, out, stderr := run(t, "", append(strings.Fields("plan --json --start 2026-11-21 "), strings.Fields(row.args)...)...)
			answer := decode[planAnswer](t, out)
			const refusal = "uidring: plan: no layout is sufficient: delta takes 32 bits, datacenter 5, worker 18, sequence 14: 69, allowed: 63; " +
				"more processes at a lower rate each, a later epoch or fewer years take less\n"
			if (code == exitOK) != (row.want != "") || (stderr == refusal) != (row.want == "") {
				t.Errorf("exit code %d, stderr %s", code, stderr)
			}
			var got []string
			for _, l := range answer.Layouts {
				if l.Preferred {
					got = append(got, l.Name)
				}
				if l.Preferred && !l.WillDo {
					t.Errorf("%s is preferred and will not do", l.Name)
				}
			}
			if strings.Join(got, ", ") != row.want {
				t.Errorf("preferred %q, want %q", got, row.want)
			}
		})
	}
}
