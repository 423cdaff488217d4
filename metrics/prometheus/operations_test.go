package prometheus_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.yaml.in/yaml/v2"

	"github.com/uidring/uidring/internal/testkit/testgen"
	generators "github.com/uidring/uidring/metrics/prometheus"
)

const operations = "../../docs/operations/"

type rule struct {
	Alert, Expr string
	Annotations map[string]string
}

func alerts(t *testing.T) (rules []rule) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []rule }
	}
	decode(t, "alerts.yml", &file)
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	if len(rules) == 0 {
		t.Fatal("no alerts")
	}
	return rules
}

func decode(t *testing.T, name string, v any) {
	t.Helper()
	text, err := os.ReadFile(operations + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
}

type dashboard struct {
	Templating struct {
		List []struct{ Name, Type string }
	}
	Panels []panel
}

type panel struct {
	ID                 int
	Title, Description string
	Datasource         struct{ UID string }
	GridPos            struct{ X, Y, W, H int }
	Targets            []struct {
		RefID, Expr string
		Datasource  struct{ UID string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile(operations + "dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) == 0 {
		t.Fatal("no panels")
	}
	return d
}

// queries returns the queries of the panels, as Grafana sends them with all jobs and instances
// chosen.
func (d dashboard) queries() (exprs []string) {
	fill := strings.NewReplacer("$__rate_interval", "1m", "$job", ".*", "$instance", ".*")
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			exprs = append(exprs, fill.Replace(target.Expr))
		}
	}
	return exprs
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	if out, err := promtool(t, nil, "test", "rules", operations+"alerts_test.yml"); err != nil {
		t.Errorf("promtool test rules: %v\n%s", err, out)
	}
	var file struct {
		Tests []struct {
			Checks []struct {
				Alert  string `yaml:"alertname"`
				Expect []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	decode(t, "alerts_test.yml", &file)
	fires, quiet := make(map[string]bool), make(map[string]bool)
	for _, test := range file.Tests {
		for _, check := range test.Checks {
			fires[check.Alert] = fires[check.Alert] || len(check.Expect) > 0
			quiet[check.Alert] = quiet[check.Alert] || len(check.Expect) == 0
		}
	}
	for _, r := range alerts(t) {
		if !fires[r.Alert] || !quiet[r.Alert] {
			t.Errorf("alerts_test.yml lacks a moment at which %s fires, or one at which it does not", r.Alert)
		}
	}
}

// TestEveryAlertIsExplained also keeps the links of alerts from breaking.
func TestEveryAlertIsExplained(t *testing.T) {
	text, err := os.ReadFile("../../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	var explained, want []string
	for _, m := range regexp.MustCompile(`(?m)^### (Uidring\w+)$`).FindAllStringSubmatch(string(text), -1) {
		explained = append(explained, m[1])
	}
	for _, r := range alerts(t) {
		want = append(want, r.Alert)
		if r.Annotations["runbook_url"] != "https://github.com/uidring/uidring/blob/main/docs/OPERATIONS.md#"+strings.ToLower(r.Alert) {
			t.Errorf("%s refers to %q", r.Alert, r.Annotations["runbook_url"])
		}
	}
	if !slices.Equal(explained, want) {
		t.Errorf("docs/OPERATIONS.md explains %v, and the alerts are %v", explained, want)
	}
}

// ofServe matches the metrics that uidring serve adds; a test of its own looks them up.
var ofServe = regexp.MustCompile(`\buidring_(http|token|connections|certificate|build|store)_?`)

// TestAlertsAndDashboardNameMetricsThatExist looks each name up in the metrics of real generators,
// except for the metrics of uidring serve.
func TestAlertsAndDashboardNameMetricsThatExist(t *testing.T) {
	families := scrape(t, registry(t, generators.NewCollector(testgen.Used(t, 1).Stats, prometheus.Labels{"generator": "orders"}),
		generators.NewCollector(segments(t).Stats, nil)))
	for _, file := range []string{"alerts.yml", "alerts_test.yml", "dashboard.json", "../OPERATIONS.md"} {
		text, err := os.ReadFile(operations + file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`uidring_\w+`).FindAllString(string(text), -1)
		if len(names) == 0 {
			t.Errorf("%s names no metric", file)
		}
		for _, name := range names {
			if families[name] == nil && !ofServe.MatchString(name) {
				t.Errorf("%s: no generator exposes %s", file, name)
			}
		}
	}
}

// TestPanelsAreWhole finds mistakes that Grafana would accept silently and show wrong.
func TestPanelsAreWhole(t *testing.T) {
	d := readDashboard(t)
	if v := d.Templating.List; len(v) == 0 || v[0].Name != "datasource" || v[0].Type != "datasource" {
		t.Errorf("the variables are %v, want the data source first", v)
	}
	taken := make(map[[2]int]string)
	ids := make(map[int]bool)
	for _, p := range d.Panels {
		if p.Title == "" || p.Description == "" || len(p.Targets) == 0 || p.ID == 0 || ids[p.ID] || p.Datasource.UID != "${datasource}" {
			t.Errorf("panel %q lacks a text, a query, an ID of its own or the chosen data source", p.Title)
		}
		ids[p.ID] = true
		refs := make(map[string]bool)
		for _, target := range p.Targets {
			if target.RefID == "" || refs[target.RefID] || target.Datasource.UID != "${datasource}" {
				t.Errorf("panel %q, query %q lacks a name of its own or the chosen data source", p.Title, target.RefID)
			}
			refs[target.RefID] = true
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other := taken[cell]; other != "" || cell[0] >= 24 {
					t.Errorf("panel %q lies over %q, or beyond the edge", p.Title, other)
				}
				taken[cell] = p.Title
			}
		}
	}
}
