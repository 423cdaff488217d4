package dashboard

import (
	"embed"
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
	entries, _ := assets.ReadDir("assets") // embedded
	for _, entry := range entries {
		name := "assets/" + entry.Name()
		all["/"+name] = file(name)
	}
	all["/"] = all["/assets/index.html"]
	delete(all, "/assets/index.html")
	return all
}

// file serves a file that browsers do not keep, so that a new version of the program is seen at
// once.
func file(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", mediaTypes[path.Ext(name)])
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		http.ServeFileFS(w, r, assets, name)
	}
}
