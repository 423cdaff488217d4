package leasestore

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const mostExtra = 1000 // bytes

// CheckTexts returns an error unless all texts of the row are UTF-8, and Extra is at most 1,000
// bytes without NUL. Stores call it: JSON would change other texts, and some store could not keep a
// longer Extra.
func (r Row) CheckTexts() error { return checkTexts(r.Extra, r.Token, r.Owner, r.Holder, r.Identity) }

// CheckTexts checks the texts of the meta row, like Row.CheckTexts.
func (m Meta) CheckTexts() error { return checkTexts(m.Extra, m.Namespace, m.Token, m.Identity) }

func checkTexts(extra string, texts ...string) error {
	if len(extra) > mostExtra || !utf8.ValidString(extra) || strings.Contains(extra, "\x00") {
		return fmt.Errorf("leasestore: Extra %q, allowed: up to %d bytes of UTF-8 without NUL", extra, mostExtra)
	}
	if !utf8.ValidString(strings.Join(texts, "\n")) {
		return fmt.Errorf("leasestore: texts %q, allowed: UTF-8", texts)
	}
	return nil
}
