package frameworks

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/transport"

	"frameworks/gql"

	"github.com/uidring/uidring"
)

type resolver struct{}

func (resolver) Query() gql.QueryResolver { return resolver{} }

func (resolver) Order(_ context.Context, id uidring.ID) (*gql.Order, error) {
	order := &gql.Order{ID: id}
	if id > 1 {
		order.Replaces = new(id - 1)
	}
	return order, nil
}

func TestGqlgen(t *testing.T) {
	server := handler.New(gql.NewExecutableSchema(gql.Config{Resolvers: resolver{}}))
	server.AddTransport(transport.POST{})
	for _, row := range []struct{ body, want string }{
		{`{"query":"{order(id:\"176636547297255431\"){id replaces}}"}`, `{"id":"176636547297255431","replaces":"176636547297255430"}`},
		{`{"query":"{order(id:176636547297255431){id}}"}`, `{"id":"176636547297255431"}`},
		{`{"query":"query($id:ID!){order(id:$id){id replaces}}","variables":{"id":"1"}}`, `{"id":"1","replaces":null}`},
		{`{"query":"query($id:ID!){order(id:$id){id}}","variables":{"id":176636547297255431}}`, `{"id":"176636547297255431"}`},
		{`{"query":"{order(id:\"x\"){id}}"}`, "uidring: malformed ID"},
		{`{"query":"query($id:ID!){order(id:$id){id}}","variables":{"id":"-1"}}`, "uidring: "},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(row.body))
		r.Header.Set("Content-Type", "application/json")
		server.ServeHTTP(w, r)
		if got := w.Body.String(); !strings.Contains(got, row.want) {
			t.Errorf("%s: %s, want %s", row.body, got, row.want)
		}
	}
}
