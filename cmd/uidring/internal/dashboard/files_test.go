package dashboard

import (
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/testkit"
)

func TestFilesAreServedWithTheirHeaders(t *testing.T) {
	all := New(quietly(t, bitsalloc.Default(), nil)).Handlers()
	for _, file := range []struct{ path, stored, mediaType string }{
		{"/", "index.html", "text/html; charset=utf-8"},
		{"/assets/main.js", "main.js", "text/javascript; charset=utf-8"},
	} {
		content := testkit.ReadFile(t, filepath.Join("assets", filepath.FromSlash(file.stored)))
		w := httptest.NewRecorder()
		all[file.path].ServeHTTP(w, httptest.NewRequest("GET", file.path, nil))
		if w.Code != 200 || w.Body.String() != content || w.Header().Get("Content-Type") != file.mediaType {
			t.Errorf("%s: status %d, %d bytes, want the %d bytes of %s", file.path, w.Code, w.Body.Len(), len(content), file.stored)
		}
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
				"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", file.path, name, got, want)
			}
		}
	}
}
