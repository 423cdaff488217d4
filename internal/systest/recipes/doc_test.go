package recipes

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page shows the code of these packages, and of testdata.
func TestThePageShowsTheCode(t *testing.T) {
	page, err := os.ReadFile("../../../docs/RECIPES.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, pattern := range []string{"*.go", "testdata/*/*.*", "schema/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.WriteString(unindent(string(text)))
		}
	}
	blocks := regexp.MustCompile("(?ms)^```[a-z]+\n(.*?)^```$").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 8 {
		t.Errorf("%d blocks of code on the page, want 8", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(code.String(), unindent(block[1])) {
			t.Errorf("no file of the recipes has\n%s", block[1])
		}
	}
}

// unindent returns the lines without leading tabs and spaces.
func unindent(text string) string {
	return regexp.MustCompile(`(?m)^[\t ]+`).ReplaceAllString(text, "")
}
