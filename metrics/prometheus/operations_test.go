package prometheus_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v2"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

const operations = "../../docs/operations/"

type rule struct {
	Alert       string
	Annotations map[string]string
}

func alerts(t *testing.T) (rules []rule) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []rule }
	}
	testkit.Must(t, yaml.Unmarshal([]byte(testkit.ReadFile(t, operations+"alerts.yml")), &file))
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	promtool := testserver.Program(t, "promtool", "prometheus")
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", operations+"alerts_test.yml").CombinedOutput(); err != nil {
		t.Errorf("promtool test rules: %v\n%s", err, out)
	}
	text := testkit.ReadFile(t, operations+"alerts_test.yml")
	for _, r := range alerts(t) {
		if n := len(regexp.MustCompile(`alertname: `+r.Alert+`\b`).FindAllString(text, -1)); n < 2 {
			t.Errorf("alerts_test.yml looks at %s %d times, want a moment at which it fires, and one at which it does not", r.Alert, n)
		}
	}
}

// TestAlertsAreExplained also keeps the links of alerts from breaking.
func TestAlertsAreExplained(t *testing.T) {
	text := testkit.ReadFile(t, "../../docs/OPERATIONS.md")
	var explained, want []string
	for _, m := range regexp.MustCompile(`(?m)^### (Uidring\w+)$`).FindAllStringSubmatch(text, -1) {
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
