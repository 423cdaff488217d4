package httpapi

import (
	"fmt"
	"io"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

// A visit makes a server give an answer that the description has.
type visit struct {
	path, route string // route: as in the description
	status      int
	headers     []string
	body        string
	server      *Server
}

// visits are all answers of all routes.
func visits(t *testing.T) (list []visit) {
	tokens := newTokens(t, "alice "+alice)
	without, _ := cutOff(t)
	const normal, closed, limited, over, cut, full, absent = "", "closed", "limited", "over", "cut off", "used up", "no folder"
	servers := map[string]*Server{
		normal:  newServer(t, Config{Segments: begunSegments(t)}),
		closed:  newServer(t, Config{Tokens: func() Tokens { return tokens }, Segments: newSegments(t, t.TempDir())}),
		limited: newServer(t, Config{Settings: Settings{Rate: 0.001}, Segments: newSegments(t, t.TempDir())}),
		over:    newServer(t, Config{Generator: ended(t)}),
		cut:     newServer(t, Config{Generator: without}),
		full:    newServer(t, Config{Segments: newSegments(t, usedUp(t))}),
		absent:  newServer(t, Config{Segments: newSegments(t, filepath.Join(t.TempDir(), "none"))}),
	}
	call(servers[limited], "/v1/id")
	add := func(name, route, path string, status int, headers ...string) {
		list = append(list, visit{path: path, route: route, status: status, headers: headers, server: servers[name]})
	}
	for path, route := range map[string]string{
		"/v1/id": "/v1/id", "/v1/ids?n=1": "/v1/ids", ordersPath + "?n=1": segmentRoute, "/v1/parse/1": "/v1/parse/{id}",
		"/openapi.json": "/openapi.json",
	} {
		add(normal, route, path, 200)
		add(normal, route, path, 403, "Sec-Fetch-Site", "cross-site")
		add(normal, route, path+"?"+strings.Repeat("x", longestURL), 414)
		list = append(list, visit{path: path, route: route, status: 413, body: "x", server: servers[normal]})
		if strings.HasPrefix(path, "/v1") {
			add(closed, route, path, 401)
			add(normal, route, strings.TrimSuffix(path, "?n=1")+"?wrong=1", 400)
			add(limited, route, path, 429)
		}
		if path != "/v1/parse/1" && strings.HasPrefix(path, "/v1") {
			add(normal, route, path, 200, "Accept", "text/plain")
			add(normal, route, path, 200, "Accept", "application/octet-stream")
			add(normal, route, path, 406, "Accept", "image/png")
		}
		if strings.HasPrefix(path, "/v1/id") {
			add(over, route, path, 500)
			add(cut, route, path, 503)
		}
	}
	add(normal, "/v1/ids", "/v1/ids?n=1000&form=base32", 200)
	add(normal, "/v1/ids", "/v1/ids?n=1000&form=base62", 200)
	for path, route := range map[string]string{"/v1/ids": "/v1/ids", ordersPath: segmentRoute} {
		add(normal, route, path+"?n=1000&form=ranges", 200)
		add(normal, route, path+"?n=1000&form=ranges", 200, "Accept", "text/plain")
	}
	for _, accept := range []string{"application/json", "text/plain", "application/octet-stream"} {
		add(normal, segmentRoute, ordersPath, 200, "Accept", accept)
	}
	add(normal, segmentRoute, "/v1/segments/invoices", 404)
	add(full, segmentRoute, ordersPath, 500)
	add(absent, segmentRoute, ordersPath, 503)
	add(normal, "/v1/parse/{id}", "/v1/parse/x", 400)
	for _, path := range []string{"/v1/id", "/v1/ids", "/v1/parse/{id}", "/openapi.json"} {
		add(normal, path, strings.ReplaceAll(path, "{id}", "1"), 503, "full", "")
	}
	return list
}

// TestEveryAnswerIsAsDescribed exercises each status of each route, and no other.
func TestEveryAnswerIsAsDescribed(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(call(newServer(t, Config{}), "/openapi.json").Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := doc.Paths.Value("/v1/ids").Get.Parameters.GetByInAndName("query", "n").Schema.Value; *n.Max != largestBatch {
		t.Errorf("n up to %v, want %d", *n.Max, largestBatch)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, v := range visits(t) {
		seen[v.route+" "+strconv.Itoa(v.status)] = true
		v.check(t, router)
	}
	described := make(map[string]bool)
	for path, item := range doc.Paths.Map() {
		for status := range item.Get.Responses.Map() {
			described[path+" "+status] = true
		}
	}
	for answer := range described {
		if !seen[answer] {
			t.Errorf("%s is described, and not exercised", answer)
		}
	}
	for answer := range seen {
		if !described[answer] {
			t.Errorf("%s is exercised, and not described", answer)
		}
	}
}

func (v visit) check(t *testing.T, router routers.Router) {
	t.Helper()
	r := httptest.NewRequest("GET", v.path, strings.NewReader(v.body))
	if slices.Contains(v.headers, "full") {
		v.server.routes.places.under.Store(mostRequests)
		defer v.server.routes.places.under.Store(0)
	} else if len(v.headers) == 2 {
		r.Header.Set(v.headers[0], v.headers[1])
	}
	w := httptest.NewRecorder()
	both(v.server).ServeHTTP(w, r)
	name := fmt.Sprintf("%.40s %v", v.path, v.headers)
	if w.Code != v.status {
		t.Errorf("%s: %d, want %d: %s", name, w.Code, v.status, w.Body)
		return
	}
	route, params, err := router.FindRoute(r)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	input := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, MultiError: true, IncludeResponseStatus: true,
	}}
	if v.status == 200 {
		if err := openapi3filter.ValidateRequest(t.Context(), input); err != nil {
			t.Errorf("%s: the request is not as described: %v", name, err)
		}
	}
	err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: w.Code, Header: w.Header(), Body: io.NopCloser(w.Body), Options: input.Options,
	})
	if err != nil {
		t.Errorf("%s: the answer is not as described: %v", name, err)
	}
}
