package httpapi

import (
	_ "embed"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
)

//go:embed openapi.json
var openAPIOfGet []byte

// openAPI adds to openapi.json the method POST of the routes that draw IDs, which is like GET.
var openAPI = withPost(openAPIOfGet)

func withPost(description []byte) []byte {
	var doc map[string]any
	if err := json.Unmarshal(description, &doc); err != nil {
		panic("bug: openapi.json: " + err.Error())
	}
	for _, path := range doc["paths"].(map[string]any) {
		operations := path.(map[string]any)
		get := operations["get"].(map[string]any)
		if get["x-draws"] != true {
			continue
		}
		delete(get, "x-draws")
		post := maps.Clone(get)
		post["operationId"] = get["operationId"].(string) + "ByPost"
		post["description"] = "Like GET, for clients whose requests other programs might cache, repeat or send in advance. There is no body."
		operations["post"] = post
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic("bug: openapi.json: " + err.Error())
	}
	return append(text, '\n')
}

// describe answers GET /openapi.json.
func describe(w http.ResponseWriter, _ *http.Request, _ client) *problem {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(openAPI)))
	_, _ = w.Write(openAPI)
	return nil
}
