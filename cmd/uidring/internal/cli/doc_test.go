package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/uidring/uidring/internal/test/testkit"
)

// The commands print the examples of docs/COMMAND.md. A line with … stands for any number of lines.
func TestReferenceExamples(t *testing.T) {
	examples := strings.Split(testkit.ReadFile(t, "../../../../docs/COMMAND.md"), "```\n$ uidring ")[1:]
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

// The flags that docs/SERVING.md names exist, and the help of serve explains all flags.
func TestServingPageNamesFlags(t *testing.T) {
	text := testkit.ReadFile(t, "../../../../docs/SERVING.md")
	flags := newServe(new(streams)).Flags()
	named := regexp.MustCompile("[` ]--([a-z][a-z-]+)").FindAllStringSubmatch(text, -1)
	for _, m := range named {
		if name := m[1]; flags.Lookup(name) == nil && name != "help" {
			t.Errorf("docs/SERVING.md names %s, which is no flag", name)
		}
	}
	if len(named) < 4 {
		t.Errorf("docs/SERVING.md names %d flags", len(named))
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if len(f.Usage) < 10 {
			t.Errorf("the help of serve does not explain %s", f.Name)
		}
	})
}
