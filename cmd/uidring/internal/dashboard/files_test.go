package dashboard

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

	"github.com/uidring/uidring/bitsalloc"
)

// newPage serves all paths of a page.
func newPage(cfg Config) http.Handler {
	mux := http.NewServeMux()
	for path, handler := range New(cfg).Handlers() {
		if path == "/" {
			path = "/{$}"
		}
		mux.Handle(path, handler)
	}
	return mux
}

func TestFilesAreServedWithTheirHeaders(t *testing.T) {
	h := newPage(quietly(t, bitsalloc.Default(), nil))
	for _, file := range []struct{ path, stored, mediaType string }{
		{"/", "index.html", "text/html; charset=utf-8"},
		{"/assets/main.js", "main.js", "text/javascript; charset=utf-8"},
	} {
		content, err := os.ReadFile(filepath.Join("assets", filepath.FromSlash(file.stored)))
		must(t, err)
		tag := fmt.Sprintf(`"%x"`, sha256.Sum256(content))
		for known, want := range map[string]int{"": 200, tag: 304} {
			r := httptest.NewRequest("GET", file.path, nil)
			r.Header.Set("If-None-Match", known)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != want || w.Code == 200 && (!bytes.Equal(w.Body.Bytes(), content) || w.Header().Get("Content-Type") != file.mediaType) {
				t.Errorf("%s: status %d, %d bytes, want %d, the %d bytes of %s", file.path, w.Code, w.Body.Len(), want, len(content), file.stored)
			}
			for name, want := range map[string]string{
				"ETag": tag, "Cache-Control": "no-cache", "Referrer-Policy": "no-referrer",
				"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
					"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
			} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s: %s is %q, want %q", file.path, name, got, want)
				}
			}
		}
	}
}

// They are as published, in the versions of the lock file; see npm.sh.
func TestNpmFilesAreUnchanged(t *testing.T) {
	sums, err := os.ReadFile("npm.sha256")
	must(t, err)
	var got []string
	must(t, filepath.WalkDir("testdata/npm", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		got = append(got, fmt.Sprintf("%x  %s", sha256.Sum256(content), filepath.ToSlash(name)))
		return err
	}))
	want := strings.Split(strings.TrimSpace(string(sums)), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("files are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
