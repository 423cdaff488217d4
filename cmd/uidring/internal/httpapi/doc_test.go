package httpapi

import (
	"strings"
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestServiceIsDocumented parses the ID of SERVICE.md, and looks for the headings that the types of
// problems lead to.
func TestServiceIsDocumented(t *testing.T) {
	page := testkit.ReadFile(t, "../../../../docs/SERVICE.md")
	s := newServer(t, Config{Generator: newGenerator(t, cached.Config{Layout: bitsalloc.Recommended(), Epoch: bitsalloc.DefaultEpoch()})})
	const command = "\n$ curl http://127.0.0.1:8080/v1/parse/"
	_, rest, _ := strings.Cut(page, command)
	id, want, ok := strings.Cut(rest, "\n")
	if got := call(s, "/v1/parse/"+id).Body.String(); !ok || !strings.HasPrefix(want, got) {
		t.Errorf("%s answers %s", command+id, got)
	}
	first, err := uidring.Parse(id)
	testkit.Must(t, err)
	for _, text := range []string{
		`{"id":"` + first.String() + "\"}\n", "\n" + id + "\n" + (first + 1).String() + "\n" + (first + 2).String() + "\n",
		`{"ranges":[{"first":"` + first.String() + `","count":1000}]}`, "`" + first.String() + " 1000`",
	} {
		if !strings.Contains(page, text) {
			t.Errorf("SERVICE.md has no %q", text)
		}
	}
	for _, p := range []*problem{badRequest, invalidID, notFound, badMethod, unknownHost, crossSite, unauthorized,
		tooManyIDs, overloaded, starting, noneReady, tooFarAhead, noLease, noRange, stopping, timeExhausted, segmentEnded, internal} {
		if !strings.Contains(page, "\n#### "+p.name+"\n") {
			t.Errorf("SERVICE.md has no heading %s", p.name)
		}
	}
}
