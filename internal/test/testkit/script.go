package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Scripts runs the paragraphs of testdata/*.txt, each as a test of its own. The title of a test is
// the first line of its paragraph. run returns the paragraph with the answers of this code, which
// must be as they are in the file. With update, Scripts writes them there.
func Scripts(t *testing.T, update bool, run func(t *testing.T, paragraph string) string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts %q, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		Must(t, err)
		paragraphs := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n\n")
		for i, p := range paragraphs {
			title, _, _ := strings.Cut(p, "\n")
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+strings.Trim(title, "# ."), func(t *testing.T) {
				got := run(t, p)
				if got != p && !update {
					t.Fatalf("%s: got\n%s\nwant\n%s", file, got, p)
				}
				paragraphs[i] = got
			})
		}
		if update {
			Must(t, os.WriteFile(file, []byte(strings.Join(paragraphs, "\n\n")+"\n"), 0o644))
		}
	}
}

// A Script runs a paragraph, and collects the answers.
type Script struct{ out strings.Builder }

// Print adds a line.
func (s *Script) Print(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

// Run calls do with the words of each line that begins with >. It returns the lines that begin with
// > or #, with the lines of Print between them.
func (s *Script) Run(paragraph string, do func(words []string)) string {
	for line := range strings.Lines(paragraph) {
		line = strings.TrimSuffix(line, "\n")
		command, ok := strings.CutPrefix(line, ">")
		if ok || strings.HasPrefix(line, "#") {
			s.Print("%s", line)
		}
		if ok {
			do(strings.Fields(command))
		}
	}
	return strings.TrimSuffix(s.out.String(), "\n")
}
