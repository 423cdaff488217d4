package uidring_test

import (
	"bufio"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// accents are turns of phrase that readers have to decode, with the advice for a writer.
var accents = []struct {
	pattern *regexp.Regexp
	advice  string
}{
	{regexp.MustCompile(`(?i)\b(what|whatever|whoever)\b`), "name the thing"},
	{regexp.MustCompile(`(?i)\b(nobody|somebody|anybody|everybody)\b`), "name the caller, goroutine, process or server"},
	{regexp.MustCompile(`(?i)\b(that|those) of\b|\bthose (that|which|who)\b|\bone that\b|\bnone of them\b`), "repeat the noun"},
}

// commentWidth is the last column of a comment on a line of its own, a tab counting as four.
const commentWidth = 100

// mayHave are the comment lines of a folder that may break the rules. A number may only fall; 0 is
// not listed.
var mayHave = map[string]int{}

// TestCommentsArePlain holds comments to the rules for language.
func TestCommentsArePlain(t *testing.T) {
	found := make(map[string][]string)
	for _, path := range trackedGoFiles(t) {
		dir := filepath.Dir(path)
		found[dir] = append(found[dir], unplainComments(t, path)...)
	}
	for dir, lines := range found {
		switch allowed := mayHave[dir]; {
		case len(lines) > allowed:
			t.Errorf("%s: %d comment lines, allowed: %d\n%s", dir, len(lines), allowed, strings.Join(lines, "\n"))
		case len(lines) < allowed:
			t.Errorf("%s: %d comment lines, and mayHave still allows %d: lower it", dir, len(lines), allowed)
		}
	}
}

// trackedGoFiles returns the Go files under version control, in nested modules, too.
func trackedGoFiles(t *testing.T) (paths []string) {
	out, err := exec.CommandContext(t.Context(), "git", "ls-files", "*.go").Output()
	if err != nil {
		t.Skipf("no version control: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		paths = append(paths, strings.TrimSpace(line))
	}
	return paths
}

// unplainComments returns the comment lines of a file that break a rule, each with the advice.
func unplainComments(t *testing.T, path string) (found []string) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		for _, comment := range group.List {
			position := fset.Position(comment.Pos())
			scanner := bufio.NewScanner(strings.NewReader(comment.Text))
			if strings.HasPrefix(comment.Text, "// Output") || strings.HasPrefix(comment.Text, "// Unordered") {
				break // the rest of the group is the output of an example
			}
			for line := position.Line; scanner.Scan(); line++ {
				if advice := advise(scanner.Text(), position.Column); advice != "" {
					found = append(found, path+":"+strconv.Itoa(line)+": "+advice+": "+scanner.Text())
				}
			}
		}
	}
	return found
}

// advise returns the advice for a comment line that starts in a column, or "".
func advise(line string, column int) string {
	if strings.HasPrefix(line, "//go:") {
		return ""
	}
	for _, accent := range accents {
		if accent.pattern.MatchString(line) {
			return accent.advice
		}
	}
	// A column counts a tab as one; comments after code may be longer.
	code := strings.HasPrefix(line, "//\t")
	if !code && column <= 4 && 4*(column-1)+utf8.RuneCountInString(line) > commentWidth && strings.Contains(line[3:], " ") {
		return "wrap it"
	}
	return ""
}
