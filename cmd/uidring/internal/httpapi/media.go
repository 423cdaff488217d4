package httpapi

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/elnormous/contenttype"
)

// A format is for a body with IDs, or with ranges of consecutive IDs.
type format struct {
	contentType         string
	head, between, tail string
	count               string // between the first ID of a range and its length; "": the body has each ID
}

// The types of bodies.
const (
	typeJSON = "application/json"
	typeText = "text/plain; charset=utf-8"
)

// negotiate returns the format that the client asks for: the media type by Accept, several IDs by
// the parameter n, and ranges by the parameter form.
func negotiate(r *http.Request, query url.Values) (format, *problem) {
	mediaType, ok := accepted(r.Header["Accept"])
	if !ok {
		return format{}, unacceptable.because("Accept allows neither application/json nor text/plain.")
	}
	many, ranges := query.Has("n"), query.Has("form")
	switch {
	case ranges && (!many || query.Get("form") != "ranges"):
		return format{}, badRequest.because("Parameter form is %q, allowed: ranges, with n.", excerpt(query.Get("form")))
	case ranges && mediaType == typeText:
		return format{typeText, "", "\n", "\n", " "}, nil
	case ranges:
		return format{typeJSON, `{"ranges":[{"first":"`, `},{"first":"`, "}]}\n", `","count":`}, nil
	case mediaType == typeText:
		return format{contentType: typeText, between: "\n", tail: "\n"}, nil
	case many:
		return format{contentType: typeJSON, head: `{"ids":["`, between: `","`, tail: "\"]}\n"}, nil
	}
	return format{contentType: typeJSON, head: `{"id":"`, tail: "\"}\n"}, nil
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
