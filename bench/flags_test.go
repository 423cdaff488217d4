package main

import (
	"bytes"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/bench/internal/load"
	"github.com/uidring/uidring/bitsalloc"
)

// parsed returns the settings of a command line.
func parsed[S any](t *testing.T, command func(*S) *cobra.Command, args string) (*S, *cobra.Command) {
	t.Helper()
	s := new(S)
	cmd := command(s)
	if err := cmd.ParseFlags(strings.Fields(args)); err != nil {
		t.Errorf("%q: %v", args, err)
	}
	return s, cmd
}

func TestFlagsOfTheMainJob(t *testing.T) {
	tests := []struct {
		args string
		want func(s *settings)
	}{
		{"", func(s *settings) {}},
		{"--worker 0", func(s *settings) { s.worker = 0 }},
		{"--datacenter 31 --worker 131071", func(s *settings) { s.worker, s.datacenter = 131071, 31 }},
		{"--boost-power 8 --padding-factor 99", func(s *settings) { s.boostPower, s.paddingFactor = 8, 99 }},
		{"--schedule 250ms", func(s *settings) { s.schedule = 250 * time.Millisecond }},
		{"--on-empty reject", func(s *settings) { s.onEmpty = "reject" }},
		{"--layout default", func(*settings) {}},
		{"--layout leased", func(s *settings) { s.layout = bitsalloc.Leased() }},
		{"--layout baidu", func(s *settings) { s.layout = bitsalloc.Baidu() }},
		{"--layout snowflake", func(s *settings) { s.layout = bitsalloc.Snowflake() }},
		{"--layout javascript", func(s *settings) { s.layout = bitsalloc.JavaScript() }},
		{"--layout 28/5/17/13", func(*settings) {}},
		{"--layout 41/0/10/12@1ms", func(s *settings) { s.layout = bitsalloc.Snowflake() }},
		{"--lanes goroutine", func(s *settings) { s.load.Lanes = "goroutine" }},
		{"--batch 256 --goroutines 1024", func(s *settings) { s.load.Goroutines, s.load.Batch = 1024, 256 }},
		{"--duration 1m30s --rate 1e6", func(s *settings) { s.duration, s.load.Rate = 90*time.Second, 1e6 }},
		{"--check 10_000_000_000", func(s *settings) { s.check = 10_000_000_000 }},
		{"--check 0 --json", func(s *settings) { s.check, s.json = 0, true }},
	}
	for _, tt := range tests {
		want := settings{worker: -1, layout: bitsalloc.Default(), boostPower: 3, paddingFactor: 50, onEmpty: "pad",
			load: load.Load{Goroutines: runtime.GOMAXPROCS(0), Lanes: "off"}, duration: 3 * time.Second, check: 100_000_000}
		tt.want(&want)
		got, cmd := parsed(t, newJob, tt.args)
		if err := got.validate(); err != nil {
			t.Errorf("%q: %v", tt.args, err)
		}
		got.cmd = nil
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%q:\n got %+v\nwant %+v", tt.args, *got, want)
		}
		if line := commandLine(cmd); line != strings.TrimSpace("bench "+tt.args) {
			t.Errorf("%q: repeated as %q", tt.args, line)
		}
	}
}

func TestFlagsOfSubcommands(t *testing.T) {
	for args, want := range map[string]time.Duration{"": 200 * time.Millisecond, "--quick": 60 * time.Millisecond, "--cell 2s --quick": 400 * time.Millisecond} {
		if s, _ := parsed(t, newSweep, args); s.share() != want || len(s.only) != len(sweepNames()) {
			t.Errorf("sweep %q: share %v, want %v; %q", args, s.share(), want, s.only)
		}
	}
	for args, want := range map[string]time.Duration{"": 400 * time.Millisecond, "--quick": 50 * time.Millisecond, "--for 5s --rate 1_000_000": time.Second} {
		if s, _ := parsed(t, newTail, args); s.share() != want {
			t.Errorf("tail %q: share %v, want %v", args, s.share(), want)
		}
	}
	sweep, cmd := parsed(t, newSweep, "--only worker,ring --cell 20ms --json=false")
	if !reflect.DeepEqual(sweep.only, []string{"ring", "worker"}) || sweep.cell != 20*time.Millisecond || sweep.json {
		t.Errorf("%+v", sweep)
	}
	if line := commandLine(cmd); line != "bench sweep --only worker,ring --cell 20ms --json=false" {
		t.Errorf("repeated as %q", line)
	}
	compare, _ := parsed(t, newCompare, "--goroutines 4,16 --lap 2s")
	if !reflect.DeepEqual(compare.many, []int{4, 16}) || compare.lap != 2*time.Second {
		t.Errorf("%+v", compare)
	}
	if soak, _ := parsed(t, newSoak, "--ids 7 --only clock,next"); soak.ids != 7 || !reflect.DeepEqual(soak.only, []string{"next", "clock"}) {
		t.Errorf("%+v", soak)
	}
	for _, tt := range []struct {
		quick             bool
		given, full, fast int
		want              int
	}{{false, 0, 5, 3, 5}, {true, 0, 5, 3, 3}, {true, 9, 5, 3, 9}} {
		if got := pick(tt.quick, tt.given, tt.full, tt.fast); got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}

func TestWrongCommandLinesEndWithALineAndStatus2(t *testing.T) {
	for args, want := range map[string]string{
		"--foo":                           "unknown flag: --foo; see bench --help",
		"--duration":                      "--duration",
		"--json more":                     `unknown command "more", allowed: compare, report, soak, sweep, tail, or none`,
		"--boost-power 0":                 `"0" for "--boost-power" flag: allowed: a whole number from 1 to 8; see bench --help`,
		"--padding-factor 100":            "a whole number from 1 to 99",
		"--goroutines 0":                  "65536",
		"--batch 1048577":                 "1048576",
		"--worker -1":                     "a whole number from 0 up",
		"--worker 131072":                 "--worker 131072, allowed with layout 28/5/17/13@1s: 0 to 131071",
		"--worker 131072 --datacenter 32": "; --datacenter 32, allowed with layout 28/5/17/13@1s: 0 to 31",
		"--layout baidu --datacenter 1":   "--datacenter 1, allowed with layout 28/0/22/13@1s: 0 to 0",
		"--schedule -1s":                  `"-1s" for "--schedule"`,
		"--duration 0":                    "at least 1ms",
		"--on-empty wait":                 "allowed: pad, reject",
		"--lanes all":                     "allowed: off, cpu, goroutine",
		"--lanes cpu --batch 9":           "--lanes cpu and --batch 9: Fill takes no IDs from lanes, leave one out",
		"--rate -1":                       "allowed: 0 (flat out) to 1e12",
		"--rate NaN":                      "allowed: 0 (flat out) to 1e12",
		"--layout 28/5":                   "widths and unit such as 28/5/17/13",
		"--layout 28/5/x/13":              "widths and unit such as 28/5/17/13",
		"--layout 28/5/17/13@soon":        "widths and unit such as 28/5/17/13",
		"--layout 0/5/17/50@7ms":          "Unit 7ms",
		"--json=maybe":                    `"maybe"`,
		"--create":                        "--create without --dsn",
		"--dsn root:hush@/x --worker 3":   "--worker and --dsn",
		"--dsn root:hush@/":               "--dsn is not understood, allowed: user:password@tcp(host:port)/database",
		"compare --rounds 0":              "a whole number from 1 to 1000; see bench compare --help",
		"compare --goroutines 2,x":        "whole numbers from 1 to 65536",
		"compare --goroutines 65537":      "whole numbers from 1 to 65536",
		"sweep --only ring,rnig":          `"rnig", allowed: ring, goroutines,`,
		"sweep --cell 1ms":                "at least 10ms",
		"sweep more":                      `unexpected argument "more"; see bench sweep --help`,
		"tail --rate 5":                   "a whole number from 1000",
		"soak --ids 0":                    "a whole number from 1 up",
		"soak --only nxt":                 `"nxt", allowed: next-1, next,`,
		"Compare":                         `unknown command "Compare"`,
	} {
		var stdout, stderr bytes.Buffer
		status := run(strings.Fields(args), &stdout, &stderr)
		text := stderr.String()
		if status != 2 || stdout.Len() > 0 || !strings.Contains(text, want) || strings.Count(text, "\n") != 1 || strings.Contains(text, "hush") {
			t.Errorf("%q: status %d, stdout %q, stderr %q, want %q", args, status, &stdout, text, want)
		}
	}
}

func TestPasswordOfADSNIsNotShown(t *testing.T) {
	for dsn, want := range map[string]string{
		"ann:hush@tcp(db:3306)/ids":           "ann@db:3306/ids",
		"ann:hu/sh@hu@tcp(db)/ids?timeout=1s": "ann@db:3306/ids",
		"ann:hush@unix(/run/my.sock)/ids":     "ann@/run/my.sock/ids",
		"tcp(db:3306)/ids":                    "db:3306/ids",
	} {
		s, cmd := parsed(t, newJob, "--json --dsn "+dsn)
		if s.dsn.text != dsn || s.dsn.shown != want || commandLine(cmd) != "bench --json --dsn "+want {
			t.Errorf("%s: shown as %q and %q, want %q", dsn, s.dsn.shown, commandLine(cmd), want)
		}
	}
	for _, dsn := range []string{"hush", "ann:hush", "ann:hush/ids", "ann:hush@tcp(db/ids", "ann:x@hush(db", "ann:x@hush(db)/", "ann:hush@tcp(db)/ids?parseTime=hush"} {
		var stdout, stderr bytes.Buffer
		if status := run([]string{"--dsn", dsn}, &stdout, &stderr); status != 2 || strings.Contains(stderr.String(), "hush") {
			t.Errorf("%s: status %d, %s", dsn, status, &stderr)
		}
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	for _, name := range []string{"", "compare", "sweep", "tail", "soak", "report"} {
		var stdout, stderr bytes.Buffer
		status := run(append(strings.Fields(name), "--help"), &stdout, &stderr)
		for _, want := range []string{"  go run ./bench " + name, "Usage:", "--json", "-h, --help"} {
			if name == "report" && want == "--json" {
				continue
			}
			if status != 0 || stderr.Len() > 0 || !strings.Contains(stdout.String(), want) {
				t.Errorf("%s --help: status %d, stderr %q, no %q in\n%s", name, status, &stderr, want, &stdout)
			}
		}
		for _, choice := range map[string][]string{"sweep": sweepNames(), "soak": soakNames(), "": {"compare", "sweep", "tail", "soak", "report"}}[name] {
			if !strings.Contains(stdout.String(), "\n  "+choice+" ") {
				t.Errorf("%s --help: no %q", name, choice)
			}
		}
	}
}
