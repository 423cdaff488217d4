package daemon

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const operations = "../../../../docs/operations/"

// TestAlertsAndDashboardNameMetricsOfTheService looks each name up in the metrics of a server with
// TLS and tokens, after an answered and a refused request. The tests of package prometheus cover
// the metrics of segments.
func TestAlertsAndDashboardNameMetricsOfTheService(t *testing.T) {
	const token = "0123456789abcdef"
	end := time.Now().Add(time.Hour)
	cert, key := pemPair(t, 1, end)
	cfg, log := testConfig(t)
	certificateFiles(t, &cfg, cert, key)
	cfg.TokenFile = filepath.Join(t.TempDir(), "tokens")
	write(t, cfg.TokenFile, "alice "+token)
	r := ready(t, cfg, log)
	client := clients(t, trusting(cert))["HTTP/1.1"]
	var metrics string
	for _, ask := range []struct {
		token, path string
		want        int
	}{{"another-0123456789", "/v1/id", http.StatusUnauthorized}, {token, "/v1/id", http.StatusOK}, {token, "/metrics", http.StatusOK}} {
		status, body, err := getAs(client, ask.token, "https://"+r.at(ask.path)+ask.path)
		if status != ask.want {
			t.Fatalf("%s: %d, %v", ask.path, status, err)
		}
		metrics = body
	}
	for name, want := range map[string]string{"tokens loaded": "tokens: 1; added: alice", "certificate loaded": "CN=certificate 1, until " + end.UTC().Format(time.RFC3339)} {
		if record := log.find(name); record == nil || record["contents"] != want {
			t.Errorf("record %v, want %s with %q", record, name, want)
		}
	}
	for _, file := range []string{"alerts.yml", "alerts_test.yml", "dashboard.json", "../OPERATIONS.md"} {
		text, err := os.ReadFile(operations + file)
		must(t, err)
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
}
