package daemon

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/testkit/testserver"
)

const operations = "../../../../docs/operations/"

// scraped returns the metrics of a server with TLS and tokens, after an answered request and a
// refused request.
func scraped(t *testing.T) string {
	t.Helper()
	const token = "0123456789abcdef"
	dir, end := t.TempDir(), time.Now().Add(time.Hour)
	cert, key := pemPair(t, 1, end)
	cfg, log := testConfig(t)
	cfg.CertFile, cfg.KeyFile, cfg.TokenFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "tokens")
	write(t, cfg.CertFile, cert)
	write(t, cfg.KeyFile, key)
	write(t, cfg.TokenFile, "alice "+token)
	r := ready(t, cfg, log)
	client := clients(t, trusting(cert))["HTTP/1.1"]
	ask := func(token, path string, want int) string {
		status, body, err := getAs(client, token, "https://"+r.at(path)+path)
		if status != want {
			t.Fatalf("%s: %d, %v", path, status, err)
		}
		return body
	}
	ask("another-0123456789", "/v1/id", http.StatusUnauthorized)
	ask(token, "/v1/id", http.StatusOK)
	for name, want := range map[string]string{"tokens loaded": "tokens: 1; added: alice", "certificate loaded": "CN=certificate 1, until " + end.UTC().Format(time.RFC3339)} {
		if record := log.find(name); record == nil || record["contents"] != want {
			t.Errorf("record %v, want %s with %q", record, name, want)
		}
	}
	return ask(token, "/metrics", http.StatusOK)
}

// TestAlertsAndDashboardNameMetricsOfTheService looks each name up in the metrics of a real server,
// and has promtool answer each query of the dashboard from them.
func TestAlertsAndDashboardNameMetricsOfTheService(t *testing.T) {
	promtool := testserver.Program(t, "promtool", "prometheus")
	metrics := scraped(t)
	for _, file := range []string{"alerts.yml", "alerts_test.yml", "dashboard.json", "../OPERATIONS.md"} {
		text, err := os.ReadFile(operations + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`uidring_\w+`).FindAllString(string(text), -1) {
			if !strings.HasPrefix(name, "uidring_segment_") && !regexp.MustCompile(`(?m)^`+name+`[{ ]`).MatchString(metrics) {
				t.Errorf("%s: no server exposes %s", file, name)
			}
		}
	}
	for _, want := range []string{`uidring_token_ids_total{token="alice"} 1`, `uidring_build_info{goversion="go`, `version="test"} 1`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	file := filepath.Join(t.TempDir(), "queries.yml")
	write(t, file, queries(t, metrics))
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("promtool test rules: %v\n%s", err, out)
	}
}

// queries returns a test for promtool, in which each query of the dashboard has a result. The tests
// of package prometheus cover the queries for segments.
func queries(t *testing.T, metrics string) string {
	t.Helper()
	type object = map[string]any
	var series, checks []any
	for _, m := range regexp.MustCompile(`(?m)^(uidring_\w+)(?:\{(.*)\})? (\S+)$`).FindAllStringSubmatch(metrics, -1) {
		labels := strings.Trim(m[2]+`,job="ids",instance="a"`, ",")
		series = append(series, object{"series": m[1] + "{" + labels + "}", "values": m[3] + "x20"})
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	text, err := os.ReadFile(operations + "dashboard.json")
	if err == nil {
		err = json.Unmarshal(text, &dashboard)
	}
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$__rate_interval", "1m", "$job", ".*", "$instance", ".*")
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			if strings.Contains(target.Expr, "uidring_segment_") {
				continue
			}
			checks = append(checks, object{"expr": "count(" + fill.Replace(target.Expr) + ") > bool 0", "eval_time": "5m",
				"exp_samples": []any{object{"labels": "{}", "value": 1}}})
		}
	}
	file, err := json.Marshal(object{"tests": []any{object{"interval": "15s", "input_series": series, "promql_expr_test": checks}}}) // YAML, too
	if err != nil {
		t.Fatal(err)
	}
	return string(file)
}
