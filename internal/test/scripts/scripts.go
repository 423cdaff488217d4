// Package scripts runs the scripts of a package, texts with commands and the answers of the code.
// Suites that users import must not import it: their tests may have a flag -update, too.
package scripts

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
)

var update = flag.Bool("update", false, "write the scripts with the answers of this code")

// Files runs each file of testdata/*.txt, without the newline at its end, as a test of its own. run
// returns the text with the answers of this code, which must be as they are in the file. With
// -update, Files writes them there.
func Files(t *testing.T, run func(t *testing.T, text string) string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want := strings.TrimSuffix(testkit.ReadFile(t, file), "\n")
			got := run(t, want)
			switch {
			case *update:
				testkit.Must(t, os.WriteFile(file, []byte(got+"\n"), 0o644))
			case got != want && !t.Failed():
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Run is Files with each paragraph as a test of its own. The title of a test is the first line of
// its paragraph.
func Run(t *testing.T, run func(t *testing.T, paragraph string) string) {
	t.Helper()
	Files(t, func(t *testing.T, text string) string {
		paragraphs := strings.Split(text, "\n\n")
		for i, p := range paragraphs {
			title, _, _ := strings.Cut(p, "\n")
			t.Run(strings.Trim(title, "# ."), func(t *testing.T) {
				got := run(t, p)
				if got != p && !*update {
					t.Errorf("got\n%s\nwant\n%s", got, p)
				}
				paragraphs[i] = got
			})
		}
		return strings.Join(paragraphs, "\n\n")
	})
}

// Each is Run with commands that a script makes one by one. do prints the answer of a command.
func Each(t *testing.T, do func(t *testing.T, s *testkit.Script, command testkit.Words)) {
	t.Helper()
	Run(t, func(t *testing.T, paragraph string) string {
		var s testkit.Script
		return s.Run(paragraph, func(command testkit.Words) { do(t, &s, command) })
	})
}
