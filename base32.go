package uidring

import "strings"

const (
	base32Width = 13 // 13 digits of 5 bits hold 64 bits and a zero on top

	// base32Digits is Douglas Crockford's alphabet, https://www.crockford.com/base32.html. It omits
	// I, L and O, which look like digits, and U. It is in ASCII order.
	base32Digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

// Base32 returns the text that [ID.AppendBase32] appends.
func (id ID) Base32() string { return string(id.AppendBase32(make([]byte, 0, base32Width))) }

// AppendBase32 appends the ID in Crockford's base32: 13 upper-case characters, from 0000000000000
// to 7ZZZZZZZZZZZZ, without hyphens or check symbol. Texts sort like their IDs, even if case is
// ignored, as in file names, host names and most database columns. A negative ID is written as the
// unsigned number of its 64 bits: it sorts after all others, and [ParseBase32] refuses it.
// AppendBase32 allocates nothing if dst has room for 13 bytes.
func (id ID) AppendBase32(dst []byte) []byte {
	for shift := 5 * (base32Width - 1); shift >= 0; shift -= 5 {
		dst = append(dst, base32Digits[uint64(id)>>shift&31])
	}
	return dst
}

// ParseBase32 reads the text of [ID.AppendBase32]. By Crockford's rules it reads lower case as
// upper case, I and L as 1, and O as 0; it refuses hyphens and check symbols. Another length, or a
// character that is no digit of base32, gives [ErrSyntax]; a number above the largest ID gives
// [ErrRange].
func ParseBase32(text string) (ID, error) {
	if len(text) != base32Width {
		return 0, base32.length(text)
	}
	var n uint64
	for i := range len(text) {
		d := base32Digit(text[i])
		if d < 0 {
			return 0, base32.foreign(text, i)
		}
		n = n<<5 | uint64(d)
	}
	// The first digit holds the bits from 60 up: a digit of 8 or more sets the sign bit or is
	// shifted out.
	if base32Digit(text[0]) > 7 {
		return 0, base32.above(text)
	}
	return ID(n), nil
}

// base32Digit returns the value of a character, or -1 if it is no digit.
func base32Digit(c byte) int {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	switch c {
	case 'I', 'L':
		return 1
	case 'O':
		return 0
	}
	return strings.IndexByte(base32Digits, c)
}
