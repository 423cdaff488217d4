package recipes

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/uidringtest"
)

func TestShop(t *testing.T) {
	db := sqlx.MustOpen("sqlite", filepath.Join(t.TempDir(), "shop.db"))
	defer db.Close()
	db.MustExec("CREATE TABLE orders (id bigint NOT NULL PRIMARY KEY, replaces bigint)")
	ids := uidringtest.New(176636547297255431, 1)
	ids.Fail(nil, nil, cached.ErrLeaseExhausted)
	handler := (&Shop{db, ids}).routes()
	for _, row := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"POST", "/orders", `{}`, http.StatusCreated, `{"id":"176636547297255431","replaces":null}`},
		{"POST", "/orders", `{"replaces":"176636547297255431"}`, http.StatusCreated, `{"id":"176636547297255432","replaces":"176636547297255431"}`},
		{"POST", "/orders", `{}`, http.StatusServiceUnavailable, "uidring: no worker ID is held for the unit of time"},
		{"POST", "/orders", `{"replaces":1.5}`, http.StatusBadRequest, "uidring: malformed ID"},
		{"GET", "/orders/176636547297255431", "", http.StatusOK, `{"id":"176636547297255431","replaces":null}`},
		{"GET", "/orders/176636547297255432", "", http.StatusOK, `{"id":"176636547297255432","replaces":"176636547297255431"}`},
		{"GET", "/orders/0176636547297255431", "", http.StatusBadRequest, "uidring: malformed ID"},
		{"GET", "/orders/1", "", http.StatusNotFound, "no such order"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), row.method, row.path, strings.NewReader(row.body))
		r.Header.Set("Content-Type", "application/json")
		handler.ServeHTTP(w, r)
		if got := strings.TrimSpace(w.Body.String()); w.Code != row.code || !strings.Contains(got, row.want) {
			t.Errorf("%s %s %s: %d %s, want %d %s", row.method, row.path, row.body, w.Code, got, row.code, row.want)
		}
	}
}
