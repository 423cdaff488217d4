package dashboard_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/dashboard"
)

func allocator(t *testing.T, l bitsalloc.Layout) *bitsalloc.Allocator {
	t.Helper()
	a, err := bitsalloc.New(l, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func noStats() cached.Stats { return cached.Stats{} }

// newPage serves all paths of a page.
func newPage(cfg dashboard.Config) http.Handler {
	mux := http.NewServeMux()
	for path, handler := range dashboard.New(cfg).Handlers() {
		if path == "/" {
			path = "/{$}"
		}
		mux.Handle(path, handler)
	}
	return mux
}

func get(t *testing.T, h http.Handler, method, path, tag string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	if tag != "" {
		r.Header.Set("If-None-Match", tag)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestFilesAreServedWithTheirHeaders(t *testing.T) {
	h := newPage(dashboard.Config{Stats: noStats, Allocator: allocator(t, bitsalloc.Default())})
	for _, file := range []struct{ path, stored, mediaType string }{
		{"/", "index.html", "text/html; charset=utf-8"},
		{"/assets/main.js", "main.js", "text/javascript; charset=utf-8"},
		{"/assets/npm/uplot/uPlot.iife.min.js", "npm/uplot/uPlot.iife.min.js", "text/javascript; charset=utf-8"},
		{"/assets/npm/uplot/LICENSE", "npm/uplot/LICENSE", "text/plain; charset=utf-8"},
	} {
		content, err := os.ReadFile(filepath.Join("assets", filepath.FromSlash(file.stored)))
		if err != nil {
			t.Fatal(err)
		}
		w := get(t, h, "GET", file.path, "")
		if w.Code != 200 || !bytes.Equal(w.Body.Bytes(), content) {
			t.Errorf("%s: status %d, %d bytes, want 200 and the %d bytes of %s", file.path, w.Code, w.Body.Len(), len(content), file.stored)
		}
		tag := fmt.Sprintf(`"%x"`, sha256.Sum256(content))
		for name, want := range map[string]string{
			"Content-Type": file.mediaType,
			"ETag":         tag,
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
				"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
			"Cache-Control":   "no-cache",
			"Referrer-Policy": "no-referrer",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", file.path, name, got, want)
			}
		}
		if w := get(t, h, "GET", file.path, tag); w.Code != 304 || w.Body.Len() != 0 {
			t.Errorf("%s, known: status %d with %d bytes, want 304 without", file.path, w.Code, w.Body.Len())
		}
	}
}

// TestNpmFilesAreUnchanged: they are as published, in the versions of the lock file; see npm.sh.
func TestNpmFilesAreUnchanged(t *testing.T) {
	sums, err := os.ReadFile("npm.sha256")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, dir := range []string{"assets/npm", "testdata/npm"} {
		err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(name)
			got = append(got, fmt.Sprintf("%x  %s", sha256.Sum256(content), filepath.ToSlash(name)))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Split(strings.TrimSpace(string(sums)), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("files are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
