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

// UnmarshalJSON reads the decimal form from a JSON string or number, so that an ID may also come
// from a program that writes numbers. It refuses a number with a point or an exponent, and all that
// [Parse] refuses, with the same errors. As usual in encoding/json, null changes nothing; a *ID
// tells it from 0. An error leaves the ID as it was.
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
