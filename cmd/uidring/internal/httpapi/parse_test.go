package httpapi

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

func TestParseTakesAnIDApartInAllForms(t *testing.T) {
	epoch := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	s := newServer(t, Config{Generator: newGenerator(t, cached.Config{Epoch: epoch, DatacenterID: 2})})
	alloc, err := bitsalloc.New(bitsalloc.Default(), epoch)
	if err != nil {
		t.Fatal(err)
	}
	number, err := alloc.Allocate(86_400, 2, 42, 7)
	if err != nil {
		t.Fatal(err)
	}
	id := uidring.ID(number)
	want := fmt.Sprintf(`{"id":"%d","base32":"%s","base62":"%s","delta":86400,"datacenter":2,"worker":42,"sequence":7,"time":"2026-01-02T00:00:00Z"}`+"\n",
		id, id.Base32(), id.Base62())
	for _, path := range []string{
		id.String(), id.Base32(), strings.ToLower(id.Base32()), id.Base62(),
		id.String() + "?form=decimal", id.Base32() + "?form=base32", id.Base62() + "?form=base62",
	} {
		w := call(s, "/v1/parse/"+path)
		if w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d, %s; want %s", path, w.Code, w.Body, want)
		}
	}
}

func TestParseRefusesTextsThatAreNoIDs(t *testing.T) {
	s := newServer(t, Config{Generator: newGenerator(t, cached.Config{Layout: bitsalloc.JavaScript()})})
	for path, want := range map[string]string{
		"0":                             "0 is not an ID of this server's layout.",
		"9223372036854775807":           "9223372036854775807 is not an ID of this server's layout.",
		"9223372036854775808":           `ID out of range: decimal "9223372036854775808": above the largest ID, allowed: 0 to 9223372036854775807.`,
		"1234567890123":                 `ambiguous ID: "1234567890123" is valid as decimal and as base32; set the form, decimal or base32.`,
		"1?form=base62":                 `malformed ID: base62 "1": 1 bytes long, allowed: 11 characters of 0-9, A-Z and a-z.`,
		"%00%ff":                        `malformed ID: no form has 2 characters, allowed: decimal digits, 13 characters of base32, 11 of base62.`,
		"1%2F2":                         `malformed ID: no form has 3 characters, allowed: decimal digits, 13 characters of base32, 11 of base62.`,
		url.PathEscape("<script>1</s>"): `malformed ID: base32 "<script>1</s>": character "<" at offset 0, allowed: 13 characters of 0-9 and A-Z but U.`,
	} {
		w := call(s, "/v1/parse/"+path)
		if p := wantProblem(t, w.Result(), w.Body.String(), "invalid-id"); p.Status != 400 || p.Detail != want {
			t.Errorf("%s: %d, %s; want %s", path, p.Status, p.Detail, want)
		}
	}
	w := call(s, "/v1/parse/1?form=hex")
	wantProblem(t, w.Result(), w.Body.String(), "bad-request")
}
