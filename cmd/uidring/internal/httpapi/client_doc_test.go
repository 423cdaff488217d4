package httpapi

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// TestDocumentedClientsFailOver runs the clients of SERVICE.md with three servers: the first is
// down, the second has no lease, the third works.
func TestDocumentedClientsFailOver(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/SERVICE.md")
	if err != nil {
		t.Fatal(err)
	}
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	set := newTokens(t, "alice "+alice)
	tokens := func() Tokens { return set }
	g, _ := cutOff(t)
	works := newServer(t, Config{Tokens: tokens})
	broken := fmt.Sprintf(`"http://%s", "%s", `, gone.Addr(), listen(t, newServer(t, Config{Generator: g, Tokens: tokens})).URL)
	servers := strings.Repeat(broken, 10) + `"` + listen(t, works).URL + `"` // they try in a random order

	for language, row := range map[string]struct{ program, apt, file string }{
		"python":     {"python3", "python3", "ids.py"},
		"javascript": {"node", "nodejs", "ids.mjs"},
		"java":       {"java", "default-jdk-headless", "Ids.java"},
	} {
		t.Run(language, func(t *testing.T) {
			program := testserver.Program(t, row.program, row.apt)
			_, rest, _ := strings.Cut(string(page), "\n```"+language+"\n")
			source, _, ok := strings.Cut(rest, "\n```\n")
			for old, now := range map[string]string{
				`"https://ids-1.example.com", "https://ids-2.example.com"`: servers,
				"replace-with-a-token": alice,
			} {
				ok = ok && strings.Count(source, old) == 1
				source = strings.ReplaceAll(source, old, now)
			}
			if !ok {
				t.Fatalf("SERVICE.md has no client in %s with two servers and a token", language)
			}
			file := filepath.Join(t.TempDir(), row.file)
			if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
				t.Fatal(err)
			}
			before := last(t, works)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out, err := exec.CommandContext(ctx, program, file).CombinedOutput()
			want := fmt.Sprintf("%d\n%d\n%d\n", before+1, before+2, before+3)
			if err != nil || string(out) != want {
				t.Errorf("%v\n%s\nwant:\n%s", err, out, want)
			}
		})
	}
}

// TestDocumentedExamplesAreTrue parses the ID of SERVICE.md.
func TestDocumentedExamplesAreTrue(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/SERVICE.md")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, Config{Generator: newGenerator(t, cached.Config{Epoch: bitsalloc.DefaultEpoch()})})
	const command = "\n$ curl http://127.0.0.1:8080/v1/parse/"
	_, rest, _ := strings.Cut(string(page), command)
	id, want, ok := strings.Cut(rest, "\n")
	if got := call(s, "/v1/parse/"+id).Body.String(); !ok || !strings.HasPrefix(want, got) {
		t.Errorf("%s answers %s", command+id, got)
	}
	first, err := uidring.ParseBase32(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		`{"id":"` + first.String() + "\"}\n", "\n" + id + "\n" + (first + 1).Base32() + "\n" + (first + 2).Base32() + "\n",
		"`" + first.String() + "`", "`" + first.Base32() + "`", "`" + first.Base62() + "`",
	} {
		if !strings.Contains(string(page), text) {
			t.Errorf("SERVICE.md has no %q", text)
		}
	}
}
