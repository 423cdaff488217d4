package main

import (
	"errors"
	"flag"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// plain is what a command line without flags means.
func plain() settings {
	return settings{
		command:       "bench",
		worker:        -1,
		layout:        bitsalloc.Default(),
		boostPower:    3,
		paddingFactor: 50,
		onEmpty:       "pad",
		goroutines:    runtime.GOMAXPROCS(0),
		duration:      3 * time.Second,
		check:         100_000_000,
	}
}

func TestFlagsAreUnderstood(t *testing.T) {
	tests := []struct {
		args string
		want func(s *settings)
	}{
		{"", func(s *settings) { s.command = "bench" }},
		{"-worker 0", func(s *settings) { s.worker = 0 }},
		{"-datacenter 31 -worker 131071", func(s *settings) { s.worker, s.datacenter = 131071, 31 }},
		{"-boost-power 20 -padding-factor 99", func(s *settings) { s.boostPower, s.paddingFactor = 20, 99 }},
		{"-schedule 250ms", func(s *settings) { s.schedule = 250 * time.Millisecond }},
		{"-on-empty reject", func(s *settings) { s.onEmpty = "reject" }},
		{"-layout default", func(*settings) {}},
		{"-layout leased", func(s *settings) { s.layout = bitsalloc.Leased() }},
		{"-layout baidu", func(s *settings) { s.layout = bitsalloc.Baidu() }},
		{"-layout snowflake", func(s *settings) { s.layout = bitsalloc.Snowflake() }},
		{"-layout javascript", func(s *settings) { s.layout = bitsalloc.JavaScript() }},
		{"-layout 28/5/17/13", func(*settings) {}},
		{"-layout 41/0/10/12/1ms", func(s *settings) { s.layout = bitsalloc.Snowflake() }},
		{"-batch 256 -goroutines 1024", func(s *settings) { s.goroutines, s.batch = 1024, 256 }},
		{"-duration 1m30s -rate 1e6", func(s *settings) { s.duration, s.rate = 90*time.Second, 1e6 }},
		{"-check 10_000_000_000", func(s *settings) { s.check = 10_000_000_000 }},
		{"-check 0 -json", func(s *settings) { s.check, s.json = 0, true }},
	}
	for _, tt := range tests {
		want := plain()
		if tt.args != "" {
			want.command = "bench " + tt.args
		}
		tt.want(&want)
		got, err := parse(strings.Fields(tt.args))
		if err != nil {
			t.Errorf("%q: %v", tt.args, err)
		}
		if got != want {
			t.Errorf("%q:\n got %+v\nwant %+v", tt.args, got, want)
		}
	}
}

func TestMistakesAreAllNamed(t *testing.T) {
	tests := []struct {
		args []string
		want []string
	}{
		{[]string{"-foo"}, []string{"-foo"}},
		{[]string{"-duration"}, []string{"-duration"}},
		{[]string{"-json", "more"}, []string{`unexpected argument "more"`}},
		{[]string{"-boost-power", "0", "-padding-factor", "100"}, []string{`-boost-power "0", allowed: a whole number from 1 to 20`, `-padding-factor "100", allowed: a whole number from 1 to 99`}},
		{[]string{"-goroutines", "0", "-batch", "1048577"}, []string{"-goroutines", "65536", "-batch", "1048576"}},
		{[]string{"-worker", "-1"}, []string{`-worker "-1", allowed: a whole number from 0 up`}},
		{[]string{"-worker", "131072", "-datacenter", "32"}, []string{"-worker 131072, allowed with layout 28/5/17/13 1s: 0 to 131071", "-datacenter 32, allowed with layout 28/5/17/13 1s: 0 to 31"}},
		{[]string{"-layout", "baidu", "-datacenter", "1"}, []string{"-datacenter 1, allowed with layout 28/0/22/13 1s: 0 to 0"}},
		{[]string{"-schedule", "-1s", "-duration", "0"}, []string{`-schedule "-1s"`, `-duration "0"`}},
		{[]string{"-on-empty", "wait"}, []string{`-on-empty "wait", allowed: pad, reject`}},
		{[]string{"-rate", "-1"}, []string{`-rate "-1"`}},
		{[]string{"-rate", "NaN"}, []string{`-rate "NaN"`}},
		{[]string{"-layout", "28/5/17"}, []string{`-layout "28/5/17"`, "28/5/17/13"}},
		{[]string{"-layout", "28/5/x/13"}, []string{`"x" is not a width`}},
		{[]string{"-layout", "28/5/17/13/soon"}, []string{`"soon" is not a unit`}},
		{[]string{"-layout", "28/5/17/13/0s"}, []string{`"0s" is not a unit`}},
		{[]string{"-layout", "0/5/17/50/7ms"}, []string{"DeltaBits 0", "= 72, allowed: at most 63", "Unit 7ms"}},
		{[]string{"-json=maybe", "-create=x"}, []string{`-json "maybe"`, `-create "x"`}},
		{[]string{"-create"}, []string{"-create without -dsn"}},
		{[]string{"-dsn", "root:hush@/x", "-worker", "3"}, []string{"-worker and -dsn"}},
		{[]string{"-dsn", "root:hush@/"}, []string{"-dsn is not understood"}},
	}
	for _, tt := range tests {
		_, err := parse(tt.args)
		if _, ok := errors.AsType[*usageError](err); !ok {
			t.Errorf("%q: %v is no usageError", tt.args, err)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(oneLine(err), want) {
				t.Errorf("%q: %v lacks %s", tt.args, err, want)
			}
		}
	}
}

func TestPasswordOfADSNIsNotKept(t *testing.T) {
	for dsn, want := range map[string]string{
		"ann:hush@tcp(db:3306)/ids":           "ann@db:3306/ids",
		"ann:hu/sh@hu@tcp(db)/ids?timeout=1s": "ann@db:3306/ids",
		"ann:hush@unix(/run/my.sock)/ids":     "ann@/run/my.sock/ids",
		"tcp(db:3306)/ids":                    "db:3306/ids",
	} {
		s, err := parse([]string{"-dsn", dsn, "-json"})
		if err != nil {
			t.Errorf("%s: %v", dsn, err)
		}
		if s.database != want || s.command != "bench -dsn "+want+" -json" {
			t.Errorf("%s: shown as %q and %q, want %q", dsn, s.database, s.command, want)
		}
	}
	for _, dsn := range []string{"hush", "ann:hush", "ann:hush/ids", "ann:hush@tcp(db/ids", "ann:x@hush(db", "ann:x@hush(db)/", "ann:hush@tcp(db)/ids?parseTime=hush"} {
		_, err := parse([]string{"-dsn", dsn})
		if err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: error %v", dsn, err)
		}
	}
}

func TestUsageNamesEveryFlag(t *testing.T) {
	newSettingsParser().flags.VisitAll(func(f *flag.Flag) {
		if !strings.Contains(usage, "\n  -"+f.Name+" ") {
			t.Errorf("-%s is missing", f.Name)
		}
	})
	if _, err := parse([]string{"-boost-power", "0", "-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}
