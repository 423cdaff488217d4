package dashboard

import (
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
)

//go:embed assets
var assets embed.FS

// mediaTypes are by the ending of a name. The answers of the mime package depend on files of the
// machine.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// files returns the handler of every embedded file: assets/index.html is "/", the others have the
// path they are stored at.
func files() map[string]http.Handler {
	all := make(map[string]http.Handler)
	err := fs.WalkDir(assets, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := assets.ReadFile(name)
		if err != nil {
			return err
		}
		at := "/" + name
		if name == "assets/index.html" {
			at = "/"
		}
		all[at] = file(mediaTypes[path.Ext(name)], content)
		return nil
	})
	if err != nil {
		panic(fmt.Sprintf("bug: dashboard: embedded files: %v", err))
	}
	return all
}

// file serves a file that browsers do not keep, so that a new version of the program is seen at
// once.
func file(mediaType string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", mediaType)
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		_, _ = w.Write(content) // the client may have disconnected
	}
}
