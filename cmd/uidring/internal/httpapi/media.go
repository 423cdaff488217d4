package httpapi

import (
	"encoding/binary"
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

// A form is the text or binary form of an ID.
type form struct {
	width  int // bytes; 0: as many as the number has digits
	append func(dst []byte, id uidring.ID) []byte
}

// A shape is the JSON text around IDs, and the values of the parameter form.
type shape struct{ head, tail, forms string }

// rangeForm is the value of form that asks for ranges.
const rangeForm = "ranges"

const textForms = "decimal, base32, base62"

var (
	one  = shape{`{"id":"`, "\"}\n", textForms}
	many = shape{`{"ids":["`, "\"]}\n", textForms + ", " + rangeForm}

	rangesJSON = format{"application/json", `{"ranges":[{"first":"`, `},{"first":"`, "}]}\n", form{0, appendDecimal}, `","count":`}
	rangesText = format{"text/plain; charset=utf-8", "", "\n", "\n", form{0, appendDecimal}, " "}
)

// negotiate returns the format that the client asks for: the media type by Accept, the form by the
// parameter form.
func negotiate(r *http.Request, query url.Values, s shape) (format, *problem) {
	subtype, ok := accepted(r.Header["Accept"])
	if !ok {
		return format{}, unacceptable.because("Accept allows none of application/json, text/plain, application/octet-stream.")
	}
	if subtype == "octet-stream" {
		if query.Has("form") {
			return format{}, badRequest.because("Parameter form is given, but application/octet-stream has one form only: 8 bytes, big-endian.")
		}
		return format{contentType: "application/octet-stream", form: form{8, appendBinary}}, nil
	}
	if s == many && query.Get("form") == rangeForm {
		if subtype == "plain" {
			return rangesText, nil
		}
		return rangesJSON, nil
	}
	f, ok := textForm(query)
	if !ok {
		return format{}, badForm(query, s.forms)
	}
	if subtype == "plain" {
		return format{contentType: "text/plain; charset=utf-8", between: "\n", tail: "\n", form: f}, nil
	}
	return format{contentType: "application/json", head: s.head, between: `","`, tail: s.tail, form: f}, nil
}

// accepted returns the subtype of the media type that the client prefers; ok is false if it accepts
// no offered type. Without Accept it returns JSON, also if Accept cannot be parsed: old Java
// clients send "*; q=.2".
func accepted(accept []string) (subtype string, ok bool) {
	list := strings.Join(accept, ",")
	if list == "" {
		return "json", true
	}
	// With a charset: an offer has to have the parameters that Accept asks for.
	utf8 := contenttype.Parameters{"charset": "utf-8"}
	best, _, err := contenttype.GetAcceptableMediaTypeFromHeader(list, []contenttype.MediaType{
		{Type: "application", Subtype: "json", Parameters: utf8},
		{Type: "text", Subtype: "plain", Parameters: utf8},
		{Type: "application", Subtype: "octet-stream"},
	})
	switch {
	case err == nil:
		return best.Subtype, true
	case errors.Is(err, contenttype.ErrNoAcceptableTypeFound):
		return "", false
	}
	return "json", true
}

// textForm returns the form of the query, decimal by default.
func textForm(query url.Values) (f form, ok bool) {
	switch query.Get("form") {
	case "decimal":
		return form{0, appendDecimal}, true
	case "base32":
		return form{13, appendBase32}, true
	case "base62":
		return form{11, appendBase62}, true
	}
	return form{0, appendDecimal}, !query.Has("form")
}

func badForm(query url.Values, allowed string) *problem {
	return badRequest.because("Parameter form is %q, allowed: %s.", excerpt(query.Get("form")), allowed)
}

func appendDecimal(dst []byte, id uidring.ID) []byte { return strconv.AppendInt(dst, int64(id), 10) }
func appendBase32(dst []byte, id uidring.ID) []byte  { return id.AppendBase32(dst) }
func appendBase62(dst []byte, id uidring.ID) []byte  { return id.AppendBase62(dst) }
func appendBinary(dst []byte, id uidring.ID) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(id))
}
