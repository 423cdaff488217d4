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
	return errors.Join(checkToken("Token", r.Token), checkText("Owner", r.Owner, maxOwner), checkText("Holder", r.Holder, maxOwner),
		checkText("Identity", r.Identity, maxIdentity))
}

func checkMeta(m leasestore.Meta) error {
	return errors.Join(checkToken("Namespace", m.Namespace), checkToken("Token", m.Token), checkText("Identity", m.Identity, maxIdentity))
}

func checkToken(field, token string) error {
	foreign := func(r rune) bool { return r <= ' ' || r > '~' }
	if len(token) > maxToken || strings.ContainsFunc(token, foreign) {
		return fmt.Errorf("sqlassigner: %s is %q, allowed: up to %d printable characters of ASCII, no space", field, token, maxToken)
	}
	return nil
}

func checkText(field, text string, most int) error {
	if n := utf8.RuneCountInString(text); n > most || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return fmt.Errorf("sqlassigner: %s is %q (%d characters), allowed: up to %d of UTF-8 without NUL", field, text, n, most)
	}
	return nil
}
