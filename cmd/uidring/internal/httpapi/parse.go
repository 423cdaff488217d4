package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/uidring/uidring/cmd/uidring/internal/idtext"
)

const parsePath = "/v1/parse/"

// parse handles GET /v1/parse/{id}.
func (s *Server) parse(w http.ResponseWriter, r *http.Request, c client) *problem {
	query, p := parameters(r, "form")
	if p != nil {
		return p
	}
	if p := c.spend(1); p != nil {
		return p
	}
	if _, ok := textForm(query); !ok {
		return badForm(query, textForms)
	}
	id, err := idtext.Form(query.Get("form")).Read(strings.TrimPrefix(r.URL.Path, parsePath))
	if err != nil {
		return invalidID.because("%s.", strings.TrimPrefix(err.Error(), "uidring: "))
	}
	f, err := s.cfg.Generator.Parse(int64(id))
	if err != nil {
		return invalidID.because("%d is not an ID of this server's layout.", id)
	}
	return writeJSON(w, idtext.Of(f))
}

func writeJSON(w http.ResponseWriter, value any) *problem {
	body, err := json.Marshal(value)
	if err != nil {
		panic("bug: httpapi: " + err.Error())
	}
	body = append(body, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
	return nil
}
