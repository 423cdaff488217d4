package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// The commands print the examples of docs/COMMAND.md. A line with … stands for any number of lines.
func TestReferenceExamples(t *testing.T) {
	clean(t)
	text, err := os.ReadFile("../../../../docs/COMMAND.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.Split(string(text), "```\n$ uidring ")[1:]
	if len(examples) < 3 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, example := range examples {
		example, _, _ = strings.Cut(example, "```\n")
		args, want, _ := strings.Cut(example, "\n")
		out := quietly(t, strings.Fields(args)...)
		head, tail, cut := strings.Cut(want, "…\n")
		if !cut && out != want || !strings.HasPrefix(out, head) || !strings.HasSuffix(out, tail) {
			t.Errorf("uidring %s: printed\n%s, the reference has\n%s", args, out, want)
		}
	}
}

// The settings that docs/SERVING.md names exist: in its table with their defaults, and
// as flags. The help of serve explains all settings.
func TestServingPageNamesSettings(t *testing.T) {
	clean(t)
	text, err := os.ReadFile("../../../../docs/SERVING.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := serveCommand(t).Flags()
	documented := settingsTable(string(text))
	for name, value := range documented {
		f := flags.Lookup(name)
		if f == nil {
			t.Errorf("docs/SERVING.md has a row for %s, which is no setting", name)
		} else if name != "burst" && value != strings.TrimSuffix(f.DefValue, "0m0s") { // the table describes it
			t.Errorf("%s is %s by default, docs/SERVING.md has %s", name, f.DefValue, value)
		}
	}
	named := regexp.MustCompile("[` ]--([a-z][a-z-]+)").FindAllStringSubmatch(string(text), -1)
	for _, m := range named {
		if name := m[1]; flags.Lookup(name) == nil && name != "help" {
			t.Errorf("docs/SERVING.md names %s, which is no setting", name)
		}
	}
	if len(documented) < 4 || len(named) < 4 {
		t.Errorf("docs/SERVING.md has %d settings in its table, and names %d", len(documented), len(named))
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if len(f.Usage) < 10 {
			t.Errorf("the help of serve does not explain %s", f.Name)
		}
	})
}

// settingsTable returns the defaults in the table of settings.
func settingsTable(page string) map[string]string {
	_, table, _ := strings.Cut(page, "| setting | default | meaning |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	defaults := make(map[string]string)
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		names, values := strings.Split(strings.TrimPrefix(cells[0], "| "), ", "), strings.Split(cells[1], ", ")
		for i, name := range names {
			defaults[name] = values[min(i, len(values)-1)]
		}
	}
	return defaults
}
