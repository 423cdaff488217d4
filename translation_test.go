package uidring_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A page is the part of a Markdown file that a translation must keep.
type page struct {
	headings []string // their levels
	tables   []string // the number of cells of each row
	code     []string // the blocks, unchanged
	links    []string // the targets outside the page, sorted
	figures  []string // the numbers with a unit of time or a ratio
}

var (
	link   = regexp.MustCompile(`\]\(([^)#][^)]*)\)`)
	figure = regexp.MustCompile(`[0-9.,]+ (?:ns|×)`)
)

func readPage(t *testing.T, name string) (p page) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "```") {
		if i%2 == 1 {
			p.code = append(p.code, part)
			continue
		}
		for line := range strings.Lines(part) {
			switch {
			case strings.HasPrefix(line, "#"):
				p.headings = append(p.headings, line[:strings.Index(line, " ")])
			case strings.HasPrefix(line, "|"):
				p.tables = append(p.tables, strings.Repeat("|", strings.Count(line, "|")))
			}
		}
		for _, match := range link.FindAllStringSubmatch(part, -1) {
			p.links = append(p.links, match[1])
		}
		p.figures = append(p.figures, figure.FindAllString(part, -1)...)
	}
	slices.Sort(p.links)
	return p
}

// TestTranslationsKeepTheStructure compares README.md with its translation.
func TestTranslationsKeepTheStructure(t *testing.T) {
	const name, translated = "README.md", "README.zh-CN.md"
	want, got := readPage(t, name), readPage(t, translated)
	other := func(link string) bool { return link == name || link == translated }
	want.links, got.links = slices.DeleteFunc(want.links, other), slices.DeleteFunc(got.links, other)
	for _, part := range []struct {
		name      string
		want, got []string
	}{
		{"headings", want.headings, got.headings},
		{"rows of tables", want.tables, got.tables},
		{"code", want.code, got.code},
		{"links", want.links, got.links},
		{"figures", want.figures, got.figures},
	} {
		if !slices.Equal(part.want, part.got) {
			t.Errorf("%s of %s: %q, want as in %s: %q", part.name, translated, part.got, name, part.want)
		}
	}
	if len(want.headings) < 5 || len(want.tables) < 10 || len(want.code) < 4 {
		t.Errorf("%s has %d headings, %d rows and %d blocks of code: too few to compare", name, len(want.headings), len(want.tables), len(want.code))
	}
}

// The README is a first page, not a manual.
func TestReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(string(text))); n > 1300 {
		t.Errorf("README.md has %d words, 1,300 at most: move details to docs", n)
	}
}
