package cli

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// The commands print the examples of docs/COMMAND.md. A line with … stands for any number of lines.
func TestTheReferenceShowsWhatIsPrinted(t *testing.T) {
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

// The table of settings in docs/SERVING.md has every flag of serve, with its default.
func TestServingNamesTheDefaults(t *testing.T) {
	clean(t)
	text, err := os.ReadFile("../../../../docs/SERVING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| setting | default | meaning |\n| --- | --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	want := make(map[string]string)
	for row := range strings.Lines(table) {
		cells := strings.Split(row, " | ")
		names, values := strings.Split(strings.TrimPrefix(cells[0], "| "), ", "), strings.Split(cells[1], ", ")
		for i, name := range names {
			want[name] = strings.Replace(values[min(i, len(values)-1)], "none", "", 1)
		}
	}
	got := make(map[string]string)
	cmd, _ := serveCommand(t)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value := strings.TrimSuffix(f.DefValue, "0m0s") // of 24h
		got[f.Name] = strings.ToLower(strings.TrimSuffix(value, "T00:00:00Z"))
	})
	for _, name := range []string{"burst", "data", "layout", "max-per-address", "window"} { // the table describes the value
		got[name] = want[name]
	}
	if !maps.Equal(got, want) {
		t.Errorf("the flags of serve have the defaults\n%v, SERVING.md has\n%v", got, want)
	}
}
