package sqlassigner

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/uidring/uidring/assigner/leasestore"
)

// The widths of text columns of WORKER_LEASE and WORKER_LEASE_META, in characters. A database may
// truncate a longer text without an error, and could so make two owners equal.
const (
	maxToken    = 64
	maxOwner    = 255
	maxIdentity = 128
)

func checkRow(r leasestore.Row) error {
	return errors.Join(r.CheckTexts(), checkText("Token", r.Token, maxToken), checkText("Owner", r.Owner, maxOwner), checkText("Holder", r.Holder, maxOwner),
		checkText("Identity", r.Identity, maxIdentity))
}

// checkText returns an error for a text that does not fit. A column of tokens has ASCII, and may
// ignore spaces at the end.
func checkText(field, text string, most int) error {
	foreign := func(r rune) bool { return r == 0 || most == maxToken && (r <= ' ' || r > '~') }
	if utf8.RuneCountInString(text) > most || !utf8.ValidString(text) || strings.ContainsFunc(text, foreign) {
		return fmt.Errorf("sqlassigner: %s is %q, allowed: up to %d characters of UTF-8 without NUL, in tokens of printable ASCII without "+
			"spaces", field, text, most)
	}
	return nil
}
