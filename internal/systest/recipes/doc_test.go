package recipes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page shows the code of this package.
func TestThePageShowsTheCode(t *testing.T) {
	page, err := os.ReadFile("../../../docs/RECIPES.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) != 3 {
		t.Errorf("%d programs on the page, want 3", len(blocks))
	}
	for _, block := range blocks {
		if block, _, _ = strings.Cut(block, "```"); !strings.Contains(code.String(), block) {
			t.Errorf("no file of this package has\n%s", block)
		}
	}
}
