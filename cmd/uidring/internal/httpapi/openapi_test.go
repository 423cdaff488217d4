package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

var description = sync.OnceValues(func() (*openapi3.T, routers.Router) {
	doc, err := openapi3.NewLoader().LoadFromData(openAPI)
	if err != nil {
		panic(err)
	}
	router, err := legacy.NewRouter(doc) // it validates doc
	if err != nil {
		panic(err)
	}
	return doc, router
})

var checked sync.Map // requests and statuses

// check panics if an answer of a described route is not as described, or if the request was not and
// got IDs. All tests that use ask are tests of openapi.json, too.
func check(r *http.Request, w *httptest.ResponseRecorder) {
	if _, again := checked.LoadOrStore(fmt.Sprint(r.Method, r.URL, r.Header["Accept"], w.Code), true); again {
		return
	}
	_, router := description()
	described := r.Clone(context.Background())
	described.Method = http.MethodGet // POST is like GET
	route, params, err := router.FindRoute(described)
	if err != nil || r.Method != http.MethodGet && r.Method != http.MethodPost || w.Body.Len() > 10_000 {
		return
	}
	input := &openapi3filter.RequestValidationInput{Request: described, PathParams: params, Route: route, Options: &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, MultiError: true, IncludeResponseStatus: true,
	}}
	if w.Code == http.StatusOK {
		err = openapi3filter.ValidateRequest(context.Background(), input)
	}
	if err == nil && w.Code != http.StatusMethodNotAllowed {
		err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: input, Status: w.Code, Header: w.Header(), Body: io.NopCloser(strings.NewReader(w.Body.String())), Options: input.Options,
		})
	}
	if err != nil {
		panic(fmt.Sprintf("%s %.100s: %d is not as described: %.1000v", r.Method, r.URL, w.Code, err))
	}
}

func TestDescription(t *testing.T) {
	doc, _ := description()
	if n := doc.Paths.Value("/v1/ids").Get.Parameters.GetByInAndName("query", "n").Schema.Value; *n.Max != largestBatch {
		t.Errorf("n up to %v, want %d", *n.Max, largestBatch)
	}
	s := newServer(t, Config{Segments: newSegments(t, t.TempDir())})
	for path := range doc.Paths.Map() {
		path = strings.NewReplacer("{name}", "orders", "{id}", "1").Replace(path)
		r := httptest.NewRequest("GET", path, strings.NewReader("x"))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		wantProblem(t, w, "bad-request", path)
		check(r, w)
	}
}
