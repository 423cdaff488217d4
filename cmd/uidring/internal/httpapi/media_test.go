package httpapi

import (
	"slices"
	"strings"
	"testing"
)

func TestAccept(t *testing.T) {
	const none = "none"
	for _, row := range []struct{ accept, want string }{
		{"", "json"},
		{"*/*", "json"},
		{"Application/JSON", "json"},
		{"application/json; charset=utf-8", "json"},
		{"application/json;charset=UTF-8;q=0.5, text/plain;q=0.4", "json"},
		{"text/plain", "plain"},
		{"text/*", "plain"},
		{"text/plain;charset=utf-8", "plain"},
		{"text/html, text/plain;q=0.9, */*;q=0.8", "plain"},
		{"application/octet-stream", "octet-stream"},
		{"application/json;q=0.1, application/octet-stream;q=0.2", "octet-stream"},
		{"application/json;q=0, */*", "plain"},
		{"application/json;q=0, text/*;q=0, */*;q=0.001", "octet-stream"},
		{"*/*;q=0.1, application/json;q=0", "plain"},
		{"text/plain;q=0.5, application/json;q=0.5", "plain"},

		{"text/html", none},
		{"application/json;q=0", none},
		{"*/*;q=0", none},
		{"text/plain;charset=latin1", none},
		{"application/problem+json", none},

		// A header that cannot be parsed counts as absent.
		{"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "json"},
		{"text/plain;q=2", "json"},
	} {
		got, ok := accepted([]string{row.accept})
		if !ok {
			got = none
		}
		if got != row.want {
			t.Errorf("Accept %q: %s, want %s", row.accept, got, row.want)
		}
	}
}

func FuzzAccept(f *testing.F) {
	for _, accept := range []string{"", "*/*", "text/plain;q=0.5, application/json", "a/b;c=\"d\\\"\";q=1.000", ", ,", "*/json;q=0"} {
		f.Add(accept)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		subtype, ok := accepted([]string{accept})
		if ok != slices.Contains([]string{"json", "plain", "octet-stream"}, subtype) {
			t.Errorf("Accept %q: %q, %v", accept, subtype, ok)
		}
		// Only a client that says so gets something else than JSON.
		if lower := strings.ToLower(accept); ok && subtype != "json" && !strings.Contains(lower, subtype) && !strings.Contains(lower, "*") {
			t.Errorf("Accept %q: %q, which it does not name", accept, subtype)
		}
	})
}
