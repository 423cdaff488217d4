package recipes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page shows the code of this package, and text for other frameworks.
func TestRecipesAreOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/RECIPES.md")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "service/main.go") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	for _, part := range []string{"A service", "net/http, sqlx, JSON, NULL", "GORM", "bun"} {
		_, text, _ := strings.Cut(string(page), "\n## "+part+"\n")
		_, text, _ = strings.Cut(text, "```go\n")
		block, _, found := strings.Cut(text, "```")
		if !found || !strings.Contains(code.String(), block) {
			t.Errorf("%s: no file of the recipes has\n%s", part, block)
		}
	}
}
