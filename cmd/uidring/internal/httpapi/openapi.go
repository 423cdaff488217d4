package httpapi

import (
	_ "embed"
	"net/http"
	"strconv"
)

//go:embed openapi.json
var openAPI []byte

// describe answers GET /openapi.json.
func describe(w http.ResponseWriter, _ *http.Request) {
	w.Header()["Content-Type"] = types[typeJSON]
	w.Header().Set("Content-Length", strconv.Itoa(len(openAPI)))
	_, _ = w.Write(openAPI)
}
