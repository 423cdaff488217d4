package main

import (
	"bytes"
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
)

func TestCommandIsSelectedByTheFirstArgument(t *testing.T) {
	tests := []struct {
		args []string
		want string
		rest []string
	}{
		{nil, "", nil},
		{[]string{"-json"}, "", []string{"-json"}},
		{[]string{"-json", "compare"}, "", []string{"-json", "compare"}},
		{[]string{"compare"}, "compare", []string{}},
		{[]string{"soak", "-ids", "7"}, "soak", []string{"-ids", "7"}},
		{[]string{"report", "-h"}, "report", []string{"-h"}},
	}
	for _, tt := range tests {
		c, rest, err := selectCommand(commands(), tt.args)
		if err != nil || c.name != tt.want || !slices.Equal(rest, tt.rest) {
			t.Errorf("%q: command %q with %q, %v; want %q with %q", tt.args, c.name, rest, err, tt.want, tt.rest)
		}
	}
	for _, name := range []string{"", "Compare", "compar", "help"} {
		_, _, err := selectCommand(commands(), []string{name})
		if _, ok := errors.AsType[*usageError](err); !ok {
			t.Errorf("%q: %v is no usageError", name, err)
		}
	}
}

func TestUnknownCommandEndsWithTheListOfThem(t *testing.T) {
	var stdout, stderr bytes.Buffer
	status := run([]string{"nope", "-json"}, &stdout, &stderr)
	want := "bench: unknown command \"nope\", allowed: compare, sweep, tail, soak, report, or none (bench -h explains)\n"
	if status != 2 || stdout.Len() > 0 || stderr.String() != want {
		t.Errorf("status %d, stdout %q, stderr %q", status, &stdout, &stderr)
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	for _, c := range commands() {
		var stdout, stderr bytes.Buffer
		args := strings.Fields(c.name + " -h")
		if status := run(args, &stdout, &stderr); status != 0 || stdout.String() != c.usage || stderr.Len() > 0 {
			t.Errorf("%q: status %d, stderr %q, stdout:\n%s", args, status, &stderr, &stdout)
		}
		if c.name != "" && !strings.Contains(usage, "\n  "+c.name+strings.Repeat(" ", 21-len(c.name))+c.summary+"\n") {
			t.Errorf("usage lacks %s: %s", c.name, c.summary)
		}
		if !strings.HasPrefix(c.usage, c.title()+" ") || !strings.Contains(c.usage, "\n  go run ./"+c.title()+" [flags]\n") {
			t.Errorf("%s: usage does not begin as the others do", c.title())
		}
	}
}

func TestWrongCommandLineSaysWhereHelpIs(t *testing.T) {
	var stdout, stderr bytes.Buffer
	status := run([]string{"compare", "-rounds", "0", "-lap", "1"}, &stdout, &stderr)
	want := `bench: -rounds "0", allowed: a whole number from 1 to 1000; -lap "1", allowed: a time such as 500ms or 3s, at least 1ms ` +
		"(bench compare -h explains)\n"
	if status != 2 || stdout.Len() > 0 || stderr.String() != want {
		t.Errorf("status %d, stdout %q, stderr %q", status, &stdout, &stderr)
	}
}

func TestUsagesOfCompareAndReportNameEveryFlag(t *testing.T) {
	for text, p := range map[string]*parser{compareUsage: newCompareParser().parser, reportUsage: newReportParser().parser} {
		p.flags.VisitAll(func(f *flag.Flag) {
			if !strings.Contains(text, "\n  -"+f.Name+" ") {
				t.Errorf("%s: -%s is missing", p.flags.Name(), f.Name)
			}
		})
	}
}
