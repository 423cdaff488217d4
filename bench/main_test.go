package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
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

// execute runs the program with a temporary folder of its own. It calls started, unless nil,
// while the program runs.
func execute(t *testing.T, started func(p *os.Process, dir string), args ...string) outcome {
	t.Helper()
	dir := t.TempDir()
	path, err := os.Executable()
	testkit.Must(t, err)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "UIDRING_BENCH=main", "TMPDIR="+dir, "TMP="+dir, "TEMP="+dir)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	testkit.Must(t, cmd.Start())
	if started != nil {
		started(cmd.Process, dir)
	}
	if exit, ok := errors.AsType[*exec.ExitError](cmd.Wait()); ok && !exit.Exited() {
		t.Fatalf("%s: %v\n%s", cmd, exit, &stderr)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	testkit.Must(t, err)
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode(), files}
}

// shortly are flags for a short measurement.
var shortly = []string{"-duration=60ms", "-check=200000"}

func TestJobMeasuresChecksAndCleansUp(t *testing.T) {
	for _, tt := range []struct {
		args, ring, want string
	}{
		{"-layout recommended", "", "-layout=31/0/12/20@1s\n"},
		{"", "ring:      65,536 IDs in 2^3 blocks, layout 28/5/17/13@1s, padding at 50 %",
			"less than 8,192 IDs in 1s on average\nThis layout has few IDs in a unit. On the recommended one: go run ./bench -layout recommended"},
		{"-goroutines=3 -boost-power=1 -padding-factor=1 -layout=31/0/10/12@60s", "", "ring:      8,192 IDs in 2^1 blocks, layout 31/0/10/12@1m0s, padding at 1 %"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			r := execute(t, nil, append(slices.Clone(shortly), strings.Fields(tt.args)...)...)
			if r.status != 0 || r.stderr != "" || len(r.files) > 0 {
				t.Fatalf("status %d, stderr %q, files %q", r.status, r.stderr, r.files)
			}
			for _, want := range []string{"bench", runtime.Version(), "worker ID: 1, fresh", "atomic add", "p99.99", ": 0 duplicates\n", tt.ring, tt.want} {
				if !strings.Contains(r.stdout, want) {
					t.Errorf("no %q in\n%s", want, r.stdout)
				}
			}
		})
	}
}

// TestScripts runs the command lines in testdata. Below each command line the script has the status
// and the first line of stderr. No command prints to stdout or leaves a file.
func TestScripts(t *testing.T) {
	scripts.Each(t, func(t *testing.T, s *testkit.Script, words testkit.Words) {
		r := execute(t, nil, words[1:]...)
		first, _, _ := strings.Cut(r.stderr, "\n")
		s.Print("  status %d: %s", r.status, first)
		if r.stdout != "" || len(r.files) > 0 {
			t.Errorf("%q: stdout %q, files %q", words, r.stdout, r.files)
		}
	})
}

func TestInterruptedProgramCleansUp(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no signal to send")
	}
	r := execute(t, func(p *os.Process, dir string) {
		testkit.Until(t, "a database file", func() bool {
			files, err := filepath.Glob(filepath.Join(dir, "*", "worker_node.db"))
			return err == nil && len(files) > 0
		})
		if err := p.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
	}, "-duration=10m")
	if r.status != 130 || r.stderr != "bench: interrupted\n" || len(r.files) > 0 {
		t.Errorf("status %d, stderr %q, files %q", r.status, r.stderr, r.files)
	}
}

func TestJobTakesItsWorkerIDFromMariaDB(t *testing.T) {
	server := testserver.MariaDB(t)
	dsn := append(slices.Clone(shortly), "-dsn="+server.DSN())
	if r := execute(t, nil, dsn...); r.status != 1 || !strings.Contains(r.stderr, "table missing") {
		t.Errorf("without tables: status %d, stderr %q", r.status, r.stderr)
	}
	wrong := "-dsn=" + strings.Replace(server.DSN(), "root", "ann:hush", 1)
	if r := execute(t, nil, wrong); r.status != 1 || !strings.Contains(r.stderr, "access denied") || strings.Contains(r.stdout+r.stderr, "hush") {
		t.Errorf("wrong password: status %d, stderr %q", r.status, r.stderr)
	}
	for _, want := range []string{"worker ID: 1,", "worker ID: 2,"} {
		if r := execute(t, nil, append(dsn, "-create")...); r.status != 0 || !strings.Contains(r.stdout, want) || !strings.Contains(r.stdout, "-dsn=DSN") {
			t.Errorf("status %d, stderr %q, want %s in\n%s", r.status, r.stderr, want, r.stdout)
		}
	}
}

func TestFleetStartsRenewsAndCloses(t *testing.T) {
	for _, row := range []struct {
		start     func(testing.TB, ...string) *testserver.Server
		arg, want string
	}{
		{testserver.MySQL, "--max-connections=14", "20 leases on 4 connections; 20 start and all close at once, and 16 at a time"},
		{testserver.PostgreSQL, "-cmax_connections=40", "20 leases on 20 connections; 20 start and all close at once, and 16 at a time"},
	} {
		server, want := row.start(t, row.arg), row.want
		r := execute(t, nil, "fleet", "-n=20", "-for=3s", "-window=4s", "-create", "-dsn="+server.DSN())
		if r.status != 0 || r.stderr != "" || !strings.Contains(r.stdout, want) {
			t.Fatalf("status %d, stderr %q, want %q in\n%s", r.status, r.stderr, want, r.stdout)
		}
		starts := map[string]string{"start": "20", "steady": "0", "rolling restart": "20", "close": "0"}
		renewals := 0 // up to the end of the steady phase: a start of others may last until one is due
		for line := range strings.Lines(r.stdout) {
			cells := regexp.MustCompile(`  +`).Split(strings.TrimSpace(line), -1)
			if len(cells) < 12 || cells[0] == "phase" {
				continue
			}
			n, _ := strconv.Atoi(cells[3])
			renewals += n
			if cells[2] != starts[cells[0]] || cells[11] != "0" || cells[0] == "steady" && renewals < 20 {
				t.Errorf("%q after %d renewals, want %s starts, 20 renewals by then, and no failure", cells, renewals, starts[cells[0]])
			}
			delete(starts, cells[0])
		}
		if len(starts) > 0 {
			t.Errorf("no phase %v in\n%s", starts, r.stdout)
		}
	}
}

func TestCompareSoakAndReportRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "docs")
	if r := execute(t, nil, "report", "-rounds=1", "-lap=1ms", "-ids=1000000", "-out="+dir); r.status != 0 || r.stderr != "" {
		t.Fatalf("status %d, stderr %q", r.status, r.stderr)
	}
	checkReport(t, dir)
	if text := testkit.ReadFile(t, filepath.Join(dir, "README.md")); !strings.Contains(text, "÷") || !regexp.MustCompile(`\n\| cached \| [1-9].* KiB \| 2\.00 \|`).MatchString(text) {
		t.Errorf("no bars, or no memory and 2 goroutines of a generator in\n%s", text)
	}
}
