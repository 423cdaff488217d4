package uidring

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// MarshalJSON returns the decimal form as a JSON string: JavaScript and other readers that hold
// numbers as float64 round numbers above 2^53. A negative ID gives [ErrRange].
func (id ID) MarshalJSON() ([]byte, error) {
	if id < 0 {
		return nil, jsonValue.negative(id.String())
	}
	text := append(make([]byte, 0, len(`"9223372036854775807"`)), '"')
	return append(strconv.AppendInt(text, int64(id), 10), '"'), nil
}

// maxExact is the largest number up to which float64 holds every integer.
const maxExact = 1<<53 - 1

// UnmarshalJSON reads the decimal form from a JSON string, or from a JSON number up to 2^53 - 1. It
// refuses larger numbers with [ErrRange], because programs that read or write numbers as float64
// round one ID to another. Use a field of type int64 if both ends are exact. The tag option string
// of encoding/json hands over each string as a number: leave it out.
//
// UnmarshalJSON also refuses a number with a point or an exponent, and all that [Parse] refuses,
// with the same errors. As usual in encoding/json, null changes nothing; a *ID tells it from 0. An
// error leaves the ID as it was.
func (id *ID) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	text, err := jsonText(data)
	if err != nil {
		return err
	}
	parsed, err := parseDecimal(jsonValue, string(text))
	if err != nil {
		return err
	}
	if parsed > maxExact && data[0] != '"' {
		return jsonValue.invalid(ErrRange, string(text), "a number above 2^53 - 1, which may have been rounded", "numbers of 0 to "+
			ID(maxExact).String()+"; send larger IDs as a string, without the tag option string, or use an int64 field where both ends are exact")
	}
	*id = parsed
	return nil
}

// jsonText returns the contents of a JSON string, and any other JSON unchanged.
func jsonText(data []byte) ([]byte, error) {
	if len(data) < 2 || data[0] != '"' || data[len(data)-1] != '"' {
		return data, nil
	}
	if !bytes.Contains(data, []byte{'\\'}) {
		return data[1 : len(data)-1], nil
	}
	// A string with digits written as \u0031 is valid JSON, too.
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return nil, jsonValue.malformed(string(data), "not JSON")
	}
	return []byte(text), nil
}
