package recipes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/publicid"
)

var orders, _ = publicid.New("order", "1:000102030405060708090a0b0c0d0e0f")

// An OrderID is a BIGINT in SQL, and a face in JSON, URLs, templates and logs.
type OrderID uidring.ID

func (id OrderID) String() string { return orders.Text(uidring.ID(id)) }

// Format prints the face with every verb, %d included.
func (id OrderID) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, id.String()) }

func (id OrderID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

func (id *OrderID) UnmarshalText(text []byte) error {
	parsed, err := orders.Parse(string(text))
	*id = OrderID(parsed)
	return err
}

// The page shows the type above, in a program that compiles.
func TestFacesPage(t *testing.T) {
	program := programOf(t, "docs/FACES.md")
	build(t.Context(), t, program)
	_, text, _ := strings.Cut(testkit.ReadFile(t, "faces_test.go"), "// An OrderID is")
	text, _, _ = strings.Cut(text, "// The page shows")
	if !strings.Contains(program, text) {
		t.Errorf("docs/FACES.md does not have the type of faces_test.go:\n%s", text)
	}
}

// No text shows the number behind a face.
func TestFacesHideIDs(t *testing.T) {
	const face = "order_10J2MZXHVGK34W"
	id := OrderID(176636547297255431)
	row := struct {
		ID       OrderID
		Replaces *OrderID
	}{id, &id}
	page := template.Must(template.New("").Parse(`<a href="/orders/{{.ID}}" title="{{.Replaces}}" onclick="show({{.ID}})">{{printf "%d" .ID}}</a>`))
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%d", "%s", "%q", "%x", "%+v", "%#v", "%08d"} {
		for _, value := range []any{id, &id, row, &row, []OrderID{id}, map[OrderID]OrderID{id: id}} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
	}
	testkit.Must(t, page.Execute(&out, row))
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("\n", "id", id, "pointer", &id, "row", row, "rows", []any{row, &row})
	}
	testkit.Must(t, json.NewEncoder(&out).Encode(row))
	shown := strings.ReplaceAll(out.String(), face, "")
	if n := strings.Count(out.String(), face); n < 80 || strings.Contains(shown, "176636547297255431") || strings.Contains(shown, fmt.Sprintf("%x", int64(id))) {
		t.Errorf("%d faces in\n%s", n, &out)
	}
}
