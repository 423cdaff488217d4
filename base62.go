package uidring

import "strings"

const (
	base62Width  = 11 // 62^11 is more than 2^64
	base62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Base62 returns the text that [ID.AppendBase62] appends.
func (id ID) Base62() string { return string(id.AppendBase62(make([]byte, 0, base62Width))) }

// AppendBase62 appends the ID in base62, with the digits 0-9, A-Z and a-z in ASCII order: 11
// characters, from 00000000000 to AzL8n0Y58m7. Texts sort like their IDs when compared byte by
// byte. If case is ignored, two IDs may have the same text: a database column needs a binary
// collation (ascii_bin in MySQL, "C" in PostgreSQL), and file names and host names should use
// base32. A negative ID is written as the unsigned number of its 64 bits: it sorts after all
// others, and [ParseBase62] refuses it. AppendBase62 allocates nothing if dst has room for 11
// bytes.
func (id ID) AppendBase62(dst []byte) []byte {
	var text [base62Width]byte
	n := uint64(id)
	for i := base62Width - 1; i >= 0; i-- {
		text[i] = base62Digits[n%62]
		n /= 62
	}
	return append(dst, text[:]...)
}

// ParseBase62 reads the text of [ID.AppendBase62]. Another length, or a character that is neither
// digit nor ASCII letter, gives [ErrSyntax]; a number above the largest ID gives [ErrRange].
func ParseBase62(text string) (ID, error) {
	if len(text) != base62Width {
		return 0, base62.length(text)
	}
	var n int64
	for i := range len(text) {
		d := int64(strings.IndexByte(base62Digits, text[i]))
		if d < 0 {
			return 0, base62.foreign(text, i)
		}
		// Ten digits always fit. Only the last digit can exceed the range, after all characters
		// have been checked.
		if n > (maxID-d)/62 {
			return 0, base62.above(text)
		}
		n = n*62 + d
	}
	return ID(n), nil
}
