package httpapi

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/elnormous/contenttype"

	"github.com/uidring/uidring"
)

// A format is for a body with IDs, or with ranges of consecutive IDs.
type format struct {
	contentType         string
	head, between, tail string
	form                form
	count               string // between the first ID of a range and its length; "": the body has each ID
}

// A form appends a text form of an ID.
type form func(dst []byte, id uidring.ID) []byte

// forms are the values of the parameter form.
var forms = map[string]form{
	"decimal": func(dst []byte, id uidring.ID) []byte { return strconv.AppendInt(dst, int64(id), 10) },
	"base32":  func(dst []byte, id uidring.ID) []byte { return id.AppendBase32(dst) },
	"base62":  func(dst []byte, id uidring.ID) []byte { return id.AppendBase62(dst) },
}

// A shape is the JSON text around IDs, and the allowed values of the parameter form.
type shape struct{ head, tail, forms string }

const textForms = "decimal, base32, base62"

var (
	one  = shape{`{"id":"`, "\"}\n", textForms}
	many = shape{`{"ids":["`, "\"]}\n", textForms + ", ranges"}
)

// The types of bodies.
const (
	typeJSON = "application/json"
	typeText = "text/plain; charset=utf-8"
)

// negotiate returns the format that the client asks for: the media type by Accept, the form by the
// parameter form.
func negotiate(r *http.Request, query url.Values, s shape) (format, *problem) {
	mediaType, ok := accepted(r.Header["Accept"])
	if !ok {
		return format{}, unacceptable.because("Accept allows neither application/json nor text/plain.")
	}
	ranges := s == many && query.Get("form") == "ranges"
	f, p := textForm(query, s.forms)
	switch {
	case ranges && mediaType == typeText:
		return format{typeText, "", "\n", "\n", forms["decimal"], " "}, nil
	case ranges:
		return format{typeJSON, `{"ranges":[{"first":"`, `},{"first":"`, "}]}\n", forms["decimal"], `","count":`}, nil
	case p != nil:
		return format{}, p
	case mediaType == typeText:
		return format{contentType: typeText, between: "\n", tail: "\n", form: f}, nil
	}
	return format{contentType: typeJSON, head: s.head, between: `","`, tail: s.tail, form: f}, nil
}

// accepted returns the media type that the client prefers; ok is false if it accepts no offered
// type. Without Accept it returns JSON, also if Accept cannot be parsed: old Java clients send
// "*; q=.2".
func accepted(accept []string) (mediaType string, ok bool) {
	list := strings.Join(accept, ",")
	if list == "" || list == "*/*" || list == typeJSON { // most clients
		return typeJSON, true
	}
	// With a charset: an offer has to have the parameters that Accept asks for.
	utf8 := contenttype.Parameters{"charset": "utf-8"}
	best, _, err := contenttype.GetAcceptableMediaTypeFromHeader(list, []contenttype.MediaType{
		{Type: "application", Subtype: "json", Parameters: utf8},
		{Type: "text", Subtype: "plain", Parameters: utf8},
	})
	switch {
	case errors.Is(err, contenttype.ErrNoAcceptableTypeFound):
		return "", false
	case err == nil && best.Subtype == "plain":
		return typeText, true
	}
	return typeJSON, true
}

// textForm returns the form of the query, decimal by default.
func textForm(query url.Values, allowed string) (form, *problem) {
	if !query.Has("form") {
		return forms["decimal"], nil
	}
	f, ok := forms[query.Get("form")]
	if !ok {
		return nil, badRequest.because("Parameter form is %q, allowed: %s.", excerpt(query.Get("form")), allowed)
	}
	return f, nil
}
