package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/cmd/uidring/internal/idtext"
)

const parsePath = "/v1/parse/"

// parse handles GET /v1/parse/{id}.
func (s *Server) parse(a *answer, r *http.Request) *problem {
	if _, p := parameters(r); p != nil {
		return p
	}
	id, err := uidring.Parse(strings.TrimPrefix(r.URL.Path, parsePath))
	if err != nil {
		return invalidID.because("%s.", strings.TrimPrefix(err.Error(), "uidring: "))
	}
	f, err := s.cfg.Generator.Parse(int64(id))
	if err != nil {
		return invalidID.because("%d is not an ID of this server's layout.", id)
	}
	if p := a.client.spend(1, a.began); p != nil {
		return p
	}
	a.Header()["Content-Type"] = types[typeJSON]
	_ = json.NewEncoder(a).Encode(idtext.Of(f)) // the client may have disconnected
	return nil
}
