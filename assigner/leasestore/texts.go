package leasestore

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// CheckTexts returns an error unless all texts of the row are UTF-8. Stores that keep rows in JSON
// call it, since JSON would change the texts.
func (r Row) CheckTexts() error { return checkTexts(r.Token, r.Owner, r.Holder, r.Identity) }

// CheckTexts returns an error unless all texts of the meta row are UTF-8, like Row.CheckTexts.
func (m Meta) CheckTexts() error { return checkTexts(m.Namespace, m.Token, m.Identity) }

func checkTexts(texts ...string) error {
	if !utf8.ValidString(strings.Join(texts, "\n")) {
		return fmt.Errorf("leasestore: texts %q, allowed: UTF-8", texts)
	}
	return nil
}
