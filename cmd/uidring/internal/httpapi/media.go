package httpapi

import (
	"net/http"
	"net/url"
	"strings"
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
	mediaType := accepted(r.Header["Accept"])
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

// accepted returns text if the header Accept names text/plain before JSON, and JSON otherwise.
func accepted(accept []string) (mediaType string) {
	for _, list := range accept {
		for each := range strings.SplitSeq(list, ",") {
			name, _, _ := strings.Cut(each, ";")
			switch name = strings.TrimSpace(name); {
			case strings.EqualFold(name, "text/plain"):
				return typeText
			case strings.EqualFold(name, typeJSON):
				return typeJSON
			}
		}
	}
	return typeJSON
}
