package uidring_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	relativeLink = regexp.MustCompile(`\]\(([^):#\s]*)(?:#([^)\s]+))?\)|(?:src|href|srcset)="([^":#]+)"`)
	codeBlock    = regexp.MustCompile("(?s)```.*?```")
	docsAnchor   = regexp.MustCompile(`docs/([A-Z]+\.md)#([a-z][a-z0-9-]*)`)
	heading      = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksLead follows each relative link of a page to its file and heading, and each address of a
// heading in docs that another file has, such as an alert or an error.
func TestLinksLead(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "ls-files").Output()
	if err != nil {
		t.Skipf("no version control: %v", err)
	}
	links := 0
	for name := range strings.FieldsSeq(string(out)) {
		if strings.HasSuffix(name, ".min.js") || strings.HasSuffix(name, ".png") || strings.Contains(name, "testdata/") {
			continue
		}
		content, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(content)
		for _, m := range docsAnchor.FindAllStringSubmatch(text, -1) {
			checkAnchor(t, name, "docs/"+m[1], m[2])
		}
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, m := range relativeLink.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			links++
			target := name
			if m[1]+m[3] != "" {
				target = path.Join(path.Dir(name), m[1]+m[3])
			}
			if _, err := os.Stat(filepath.FromSlash(target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, target)
			} else if m[2] != "" {
				checkAnchor(t, name, target, m[2])
			}
		}
	}
	if links < 100 {
		t.Errorf("%d links, want more", links)
	}
}

// checkAnchor checks that a page has the heading with an anchor, as GitHub derives it.
func checkAnchor(t *testing.T, from, page, anchor string) {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(page))
	if err != nil {
		t.Errorf("%s refers to %s: %v", from, page, err)
		return
	}
	for _, m := range heading.FindAllStringSubmatch(string(text), -1) {
		if strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-") == anchor {
			return
		}
	}
	t.Errorf("%s refers to the heading #%s of %s, which does not exist", from, anchor, page)
}
