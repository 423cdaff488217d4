// Command words checks the words of the repository: the language of comments and pages, comments of
// exported names, links, the translation of README.md, and log records in the docs. make lint runs
// it, from the top of the repository.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// accents are turns of phrase that readers have to decode, with the advice for a writer.
var accents = []struct {
	pattern *regexp.Regexp
	advice  string
}{
	{regexp.MustCompile(`(?i)\b(what|whatever|whoever)\b`), "name the thing"},
	{regexp.MustCompile(`(?i)\b(nobody|somebody|anybody|everybody)\b`), "name the caller, goroutine, process or server"},
	{regexp.MustCompile(`(?i)\b(that|those) of\b|\bthose (that|which|who)\b|\bones? that\b|\bnone of them\b`), "repeat the noun"},
}

const (
	commentWidth = 100  // the last column of a comment on a line of its own, a tab counting as four
	readmeWords  = 1570 // without code
)

var (
	link           = regexp.MustCompile(`\]\(([^):#\s]*)(?:#([^)\s]+))?\)|(?:src|href|srcset)="([^":#]+)"`)
	docsAnchor     = regexp.MustCompile(`(docs/[A-Z]+\.md)#([a-z][a-z0-9-]*)`)
	heading        = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	notInAnchors   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	codeBlock      = regexp.MustCompile("(?s)```.*?```")
	uncommented    = regexp.MustCompile(`(?m)^(?:[^/\n].*)?\n(type [A-Z]\w*|(?:var|const) (?:\(\n\t)?[A-Z][^/\n]*$|func (?:\((?:\w+ )?\*?[A-Z]\S*\) )?[A-Z]\w*)`)
	packageComment = regexp.MustCompile(`(?m)^(//.*|\*/)\npackage `)
	code           = regexp.MustCompile("`[^`\n]*`")
	logged         = regexp.MustCompile(`Logger\.(?:Info|Warn|Error)\("([^"]+)"`)
	documented     = regexp.MustCompile("(?m)^\\| (?:INFO|WARN|ERROR) \\| `(?:panic in )?([^`…]{1,45})") // the rest may be a variable

	// A translation keeps these parts of a page, in this order.
	structure = map[string]*regexp.Regexp{
		"heading levels":  regexp.MustCompile(`(?m)^#+ `),
		"blocks of code":  codeBlock,
		"links":           regexp.MustCompile(`\]\([^)#]+\)`),
		"rows of tables":  regexp.MustCompile(`(?m)^\|`),
		"figures in ns/×": regexp.MustCompile(`[0-9.,]+ (?:ns|×)`),
	}
)

// A tree is the text of each file under version control, by path.
type tree map[string]string

var failed bool

func complain(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
	failed = true
}

func main() {
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		complain("git ls-files: %v", err)
	}
	files := make(tree)
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if text, err := os.ReadFile(name); err == nil && !strings.Contains(name, "testdata/") && utf8.Valid(text) {
			files[name] = string(text)
		}
	}
	for name, text := range files {
		switch {
		case strings.HasSuffix(name, ".go"):
			comments(name, text)
		case strings.HasSuffix(name, ".md"):
			files.page(name, text)
		}
		for _, m := range docsAnchor.FindAllStringSubmatch(text, -1) {
			files.anchor(name, m[1], m[2])
		}
	}
	files.packages()
	for name, translated := range map[string]string{"README.md": "README.zh-CN.md", "docs/TUTORIAL.md": "docs/zh-CN/TUTORIAL.md", "docs/KUBERNETES.md": "docs/zh-CN/KUBERNETES.md"} {
		files.translation(name, translated)
	}
	files.records()
	if n := len(strings.Fields(codeBlock.ReplaceAllString(files["README.md"], ""))); n > readmeWords {
		complain("README.md has %d words, allowed: %d; move details to docs", n, readmeWords)
	}
	if failed {
		os.Exit(1)
	}
}

// comments checks the line comments of a Go file, and that its exported names have one.
func comments(name, text string) {
	if !strings.Contains(name, "internal/") && !strings.HasSuffix(name, "_test.go") {
		for _, m := range uncommented.FindAllStringSubmatch(text, -1) {
			if !strings.HasSuffix(m[1], ") Error") {
				complain("%s: no comment: %s", name, m[1])
			}
		}
	}
	example := false // the rest of the comment is the output of an example
	for i, line := range strings.Split(text, "\n") {
		before, comment, found := strings.Cut(line, "// ") // not a directive, and not indented code
		alone := strings.Trim(before, "\t") == ""
		example = alone && found && (example || strings.HasPrefix(comment, "Output") || strings.HasPrefix(comment, "Unordered"))
		if !found || example {
			continue
		}
		where := name + ":" + strconv.Itoa(i+1)
		plain(where, comment)
		// Comments after code may be longer.
		if alone && len(before) < 4 && 4*len(before)+utf8.RuneCountInString(line[len(before):]) > commentWidth && strings.Contains(comment, " ") {
			complain("%s: wrap it: %s", where, comment)
		}
	}
}

// packages checks that each package for users has a comment, and a place in doc.go.
func (files tree) packages() {
	comments := make(map[string]bool)
	for name, text := range files {
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "internal/") {
			comments[path.Dir(name)] = comments[path.Dir(name)] || packageComment.MatchString(text)
		}
	}
	for folder, has := range comments {
		if !has {
			complain("%s: no package comment", folder)
		}
		if folder != "." && folder != "bench" && folder != "cmd/uidring" && !strings.Contains(files["doc.go"], "[github.com/uidring/uidring/"+folder+"]") {
			complain("doc.go does not name the package %s", folder)
		}
	}
}

// plain checks a line for accents.
func plain(where, line string) {
	for _, accent := range accents {
		if accent.pattern.MatchString(line) {
			complain("%s: %s: %s", where, accent.advice, strings.TrimSpace(line))
		}
	}
}

// page checks the words of a page, and its links to files and headings.
func (files tree) page(name, text string) {
	blank := func(block string) string { return strings.Repeat("\n", strings.Count(block, "\n")) }
	prose := codeBlock.ReplaceAllStringFunc(text, blank)
	if path.Base(name) != "CHANGELOG.md" {
		for i, line := range strings.Split(code.ReplaceAllString(prose, ""), "\n") {
			plain(name+":"+strconv.Itoa(i+1), line)
		}
	}
	for _, m := range link.FindAllStringSubmatch(prose, -1) {
		target := name
		if m[1]+m[3] != "" {
			target = path.Join(path.Dir(name), m[1]+m[3])
		}
		if _, err := os.Stat(target); err != nil {
			complain("%s links to %s, which does not exist", name, target)
		} else if m[2] != "" {
			files.anchor(name, target, m[2])
		}
	}
}

// anchor checks that a page has the heading with an anchor, as GitHub derives it.
func (files tree) anchor(from, page, anchor string) {
	for _, m := range heading.FindAllStringSubmatch(files[page], -1) {
		if strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-") == anchor {
			return
		}
	}
	complain("%s refers to the heading #%s of %s, which does not exist", from, anchor, page)
}

// translation compares a page with its translation.
func (files tree) translation(name, translated string) {
	replaced := []string{"](docs/zh-CN/", "](docs/", "](" + name + ")", "](" + translated + ")"}
	if path.Base(path.Dir(translated)) == "zh-CN" { // a folder below the page
		replaced = []string{"](../../", "](../", "](../", "]("}
	}
	page := strings.NewReplacer(replaced...).Replace(files[translated])
	for part, pattern := range structure {
		want, got := pattern.FindAllString(files[name], -1), pattern.FindAllString(page, -1)
		if part == "links" {
			slices.Sort(want) // a sentence may have another order
			slices.Sort(got)
		}
		if !slices.Equal(want, got) {
			complain("%s of %s: %q, want as in %s: %q", part, translated, got, name, want)
		}
	}
}

// records compares the log records of the library with the tables in docs.
func (files tree) records() {
	var source, docs strings.Builder
	for name, text := range files {
		switch {
		case strings.HasPrefix(name, "docs/"):
			docs.WriteString(text)
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			source.WriteString(text)
			for _, m := range logged.FindAllStringSubmatch(text, -1) {
				if !strings.HasPrefix(name, "cmd/") && !strings.Contains(files["docs/OPERATIONS.md"]+files["docs/SEGMENT.md"], "`"+m[1]+"`") {
					complain("%s logs %q, which docs/OPERATIONS.md and docs/SEGMENT.md lack", name, m[1])
				}
			}
		}
	}
	for _, m := range documented.FindAllStringSubmatch(docs.String(), -1) {
		if !strings.Contains(source.String(), m[1]) {
			complain("docs have the log record %q, which the code does not write", m[1])
		}
	}
}
