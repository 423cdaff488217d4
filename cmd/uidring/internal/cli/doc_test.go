package cli

import (
	"os"
	"strings"
	"testing"
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
