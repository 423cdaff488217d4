package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// TestMain runs the program in place of the tests if an environment variable asks for it.
func TestMain(m *testing.M) {
	if os.Getenv("UIDRING_BENCH") == "main" {
		main()
	}
	m.Run()
}

// An outcome is the output of the program.
type outcome struct {
	stdout, stderr string
	status         int
	files          []string // in its temporary folder
}

// prepare returns the program's command, with a temporary folder of its own.
func prepare(t *testing.T, args ...string) (cmd *exec.Cmd, dir string) {
	t.Helper()
	dir = t.TempDir()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "UIDRING_BENCH=main", "TMPDIR="+dir, "TMP="+dir, "TEMP="+dir)
	return cmd, dir
}

func execute(t *testing.T, args ...string) outcome {
	t.Helper()
	cmd, dir := prepare(t, args...)
	return finish(t, cmd, dir, (*exec.Cmd).Run)
}

func finish(t *testing.T, cmd *exec.Cmd, dir string, run func(*exec.Cmd) error) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := run(cmd)
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || !exit.Exited()) {
		t.Fatalf("%s: %v\n%s", cmd, err, &stderr)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), files}
}

// shortly are flags for a short measurement.
var shortly = []string{"--duration", "60ms", "--check", "200000"}

func TestProgramPrintsTablesAndCleansUp(t *testing.T) {
	r := execute(t, shortly...)
	if r.status != 0 || r.stderr != "" || len(r.files) > 0 {
		t.Fatalf("status %d, stderr %q, files %q", r.status, r.stderr, r.files)
	}
	for _, want := range []string{"bench --duration 60ms --check 200000\n", "SQLite in a temporary folder", "THROUGHPUT: Next",
		"BASELINES", "LATENCY", "ID TIME", "MEMORY", "IDs checked", "duplicates                           0\n"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	if strings.ContainsAny(r.stdout, "\r\x1b") {
		t.Errorf("a progress bar went into a pipe:\n%q", r.stdout)
	}
}

// decode reads the report as a stranger would: by the names of its keys.
func decode(t *testing.T, r outcome) map[string]map[string]any {
	t.Helper()
	if r.status != 0 || r.stderr != "" || len(r.files) > 0 {
		t.Fatalf("status %d, stderr %q, files %q", r.status, r.stderr, r.files)
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal([]byte(r.stdout), &parts); err != nil {
		t.Fatalf("%v in\n%s", err, r.stdout)
	}
	tables := make(map[string]map[string]any)
	for name, text := range parts {
		var table map[string]any
		if json.Unmarshal(text, &table) == nil {
			tables[name] = table
		}
	}
	return tables
}

func TestProgramPrintsJSONThatAddsUp(t *testing.T) {
	tests := []struct {
		name, args string
		want       map[string]any // by section and key
	}{
		{"defaults", "", map[string]any{"generator.worker_id": 1.0, "generator.guarantee": "fresh", "generator.on_empty": "pad",
			"generator.layout": "28/5/17/13@1s", "generator.capacity_ids": 65536.0}},
		{"static worker", "--worker 7 --datacenter 2 --goroutines 3", map[string]any{"generator.worker_id": 7.0,
			"generator.datacenter_id": 2.0, "generator.guarantee": "derived", "load.goroutines": 3.0}},
		{"lanes of CPUs", "--lanes cpu", map[string]any{"load.lanes": "cpu"}},
		{"a lane for each goroutine", "--lanes goroutine --goroutines 3", map[string]any{"load.lanes": "goroutine"}},
		{"batches", "--batch 256 --goroutines 1", map[string]any{"load.batch": 256.0}},
		{"reject", "--on-empty reject --boost-power 1 --padding-factor 1", map[string]any{"ring.inline_pads": 0.0,
			"generator.on_empty": "reject", "generator.capacity_ids": 16384.0}},
		{"paced", "--rate 1e5 --layout snowflake", map[string]any{"load.rate_per_second": 1e5, "throughput.allocs_per_id": nil}},
		{"a long unit", "--layout 31/0/10/12@60s", map[string]any{"generator.layout": "31/0/10/12@1m0s"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := execute(t, slices.Concat(shortly, []string{"--json"}, strings.Fields(tt.args))...)
			got := decode(t, r)
			tt.want["check.duplicates"] = 0.0
			tt.want["machine.go_version"] = runtime.Version()
			for name, want := range tt.want {
				section, key, _ := strings.Cut(name, ".")
				if value, ok := got[section][key]; !ok || value != want {
					t.Errorf("%s: %v, want %v", name, value, want)
				}
			}
			ids := got["throughput"]["ids"].(float64)
			rate, seconds := got["throughput"]["ids_per_second"].(float64), got["throughput"]["seconds"].(float64)
			if ids < 1 || rate*seconds/ids < 0.999 || rate*seconds/ids > 1.001 {
				t.Errorf("%v IDs in %v s are not %v a second", ids, seconds, rate)
			}
			if least := 200_000.0; tt.name != "paced" && got["check"]["ids"].(float64) < least {
				t.Errorf("%v IDs checked, want %v", got["check"]["ids"], least)
			}
		})
	}
}

func TestProgramRefusesWithALineAndAStatus(t *testing.T) {
	tests := []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--boost-power", "99"}, 2, `bench: invalid argument "99" for "--boost-power" flag: allowed: a whole number from 1 to 8`},
		{[]string{"--layout", "20/0/10/12"}, 2, "bench: cached: the delta field is used up"},
		{[]string{"--layout", "30/0/0/33", "--boost-power", "8", "--worker", "0"}, 0, ""},
		{[]string{"--layout", "30/0/3/30"}, 0, ""},
		{[]string{"--layout", "30/0/0/33"}, 1, "worker IDs exhausted"},
	}
	for _, tt := range tests {
		r := execute(t, slices.Concat(shortly, tt.args)...)
		if r.status != tt.status || !strings.Contains(r.stderr, tt.want) || len(r.files) > 0 {
			t.Errorf("%q: status %d, want %d; stderr %q, want %q; files %q", tt.args, r.status, tt.status, r.stderr, tt.want, r.files)
		}
		if lines := strings.Count(r.stderr, "\n"); tt.status > 0 && (lines != 1 || r.stdout != "") {
			t.Errorf("%q: %d lines on stderr, want 1: %s; stdout: %q", tt.args, lines, r.stderr, r.stdout)
		}
	}
}

func TestInterruptedProgramCleansUp(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no signal to send")
	}
	cmd, dir := prepare(t, "--duration", "10m")
	r := finish(t, cmd, dir, func(cmd *exec.Cmd) error {
		if err := cmd.Start(); err != nil {
			return err
		}
		poll.Until(t, "a database file", func() bool {
			files, err := filepath.Glob(filepath.Join(dir, "*", "worker_node.db"))
			return err == nil && len(files) > 0
		})
		return errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait())
	})
	if r.status != 130 || r.stderr != "bench: interrupted\n" || r.stdout != "" || len(r.files) > 0 {
		t.Errorf("status %d, stderr %q, stdout %q, files %q", r.status, r.stderr, r.stdout, r.files)
	}
}

func TestProgramTakesItsWorkerIDFromMariaDB(t *testing.T) {
	server := testserver.MariaDB(t)
	dsn := append(slices.Clone(shortly), "--json", "--dsn", server.DSN())
	if r := execute(t, dsn...); r.status != 1 || !strings.Contains(r.stderr, "table missing") || !strings.Contains(r.stderr, "uidring schema mysql") {
		t.Errorf("without tables: status %d, stderr %q", r.status, r.stderr)
	}
	wrong := append(slices.Clone(shortly), "--dsn", strings.Replace(server.DSN(), "root", "ann:hush", 1))
	if r := execute(t, wrong...); r.status != 1 || !strings.Contains(r.stderr, "access denied") || strings.Contains(r.stderr, "hush") {
		t.Errorf("wrong password: status %d, stderr %q", r.status, r.stderr)
	}
	for run := range 2 {
		got := decode(t, execute(t, append(dsn, "--create")...))["generator"]
		if got["worker_id"] != float64(run+1) || got["worker_source"] != "WORKER_NODE, root@"+server.Addr()+"/uidring" {
			t.Errorf("run %d: worker %v from %v", run, got["worker_id"], got["worker_source"])
		}
	}
	db, err := sqlassigner.OpenMySQL(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var rows int
	if err := db.GetContext(t.Context(), &rows, "SELECT COUNT(*) FROM WORKER_NODE"); err != nil || rows != 2 {
		t.Errorf("%d rows, %v; want 2", rows, err)
	}
	if r := execute(t, append(dsn, "--layout", "baidu")...); r.status != 1 || !strings.Contains(r.stderr, "layout mismatch") {
		t.Errorf("another layout: status %d, stderr %q", r.status, r.stderr)
	}
}
