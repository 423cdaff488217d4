// Package publicid gives IDs a public face: a text with the kind of the ID in front, such as
// order_10J2MZXHVGK34W, that shows neither time nor worker ID, neighbours nor counts. The database
// keeps the ID itself; a [Masker] converts at the border of the program.
//
//	orders, err := publicid.New("order", "1:"+secret) // 32 hexadecimal digits, as openssl rand -hex 16 prints
//	text := orders.Text(id)
//	id, err := orders.Parse(text)
//
// A mask is no authentication. Every text with 13 digits of base32 reads as an ID: check that the
// row exists and that the caller may see it. Equal IDs of a kind have equal texts. A holder of the
// key reads all IDs.
//
// # The mask
//
// The mask is a permutation of 0 to 2^63-1: no two IDs have one face, and each face has its ID. For
// ports to other languages, testdata/vectors.json has examples. The kind selects an AES-128 key,
// the first 16 bytes of HMAC-SHA-256(key, kind). The number is split into its upper 31 and its
// lower 32 bits, which change in turn over ten rounds of a Feistel network:
//
//	round 0, 2, 4, 6, 8    upper ^= F(round, lower) >> 1
//	round 1, 3, 5, 7, 9    lower ^= F(round, upper)
//
// F is the first four bytes of AES(round || eleven zero bytes || half), where round is a byte, and
// half and the result are big-endian numbers of four bytes. The inverse runs the rounds backwards.
//
// This is the generalized Feistel cipher of Black and Rogaway (Ciphers with Arbitrary Finite
// Domains, 2002). With random functions, six rounds withstand chosen texts up to the order of 2^32
// of them (Patarin, Security of Random Feistel Schemes with 5 or More Rounds, 2004); ten are the
// rounds of FF1 in NIST SP 800-38G. It is not FF1, for which patents are claimed.
//
// # Hot spots
//
// [Scatter] is another permutation, without a key: it spreads the inserts of a sharded database.
package publicid

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uidring/uidring"
)

// ErrInvalid is wrapped in each error of [New] and [NewUnmasked], a [uidring.FieldError].
var ErrInvalid = errors.New("publicid: invalid argument")

const (
	kindSyntax = "1 to 63 of a-z, 0-9 and _, with a letter first and no _ last"
	keySyntax  = "a number from 1 to 9, a colon and 32 hexadecimal digits"
	idSyntax   = "13 characters of 0-9 and A-Z but U"
)

// noKey is the text of the zero Masker, and its mistake.
const noKey = "the Masker was not made with publicid.New"

var kinds = regexp.MustCompile(`^[a-z]([a-z0-9_]{0,61}[a-z0-9])?$`)

// A Masker masks the IDs of one kind, and writes and reads their texts. Its methods may be called
// by several goroutines at once. It prints without its keys. Make one with [New] or [NewUnmasked]:
// the zero Masker has no key, and gives and reads no face, so that it shows no ID.
type Masker struct {
	kind    string
	number  int                  // of the first key
	first   *permutation         // of the first key; nil: unmasked
	keys    map[int]*permutation // by number
	allowed string               // texts, for errors
}

// New returns a Masker for a kind of IDs, such as "order": 1 to 63 lower-case letters, digits and
// underscores. A kind begins with a letter, and does not end with an underscore. IDs of two kinds
// have unrelated faces.
//
// A key is a text: its number from 1 to 9, a colon, and 128 bits as 32 hexadecimal digits. The
// first key masks, and all keys read texts. To rotate keys, append the new one and deploy; when all
// processes can read it, move it to the front. Drop an old key when no text with its number is in
// use.
//
// New reports all mistakes at once, each as a [uidring.FieldError] that wraps [ErrInvalid]. No
// error contains a key.
func New(kind string, keys ...string) (*Masker, error) {
	m := &Masker{kind: kind, keys: make(map[int]*permutation)}
	errs := []error{checkKind(kind)}
	if len(keys) == 0 {
		errs = append(errs, invalid("keys", "none", "1 to 9 keys; NewUnmasked takes none"))
	}
	for i, key := range keys {
		field := "key at place " + strconv.Itoa(i+1)
		number, secret, err := parseKey(key)
		switch {
		case err != nil:
			errs = append(errs, invalid(field, err.Error(), keySyntax))
		case m.keys[number] != nil:
			errs = append(errs, invalid(field, fmt.Sprintf("with number %d again", number), "one key of each number"))
		default:
			m.keys[number] = newPermutation(secret, kind)
			if i == 0 {
				m.number, m.first = number, m.keys[number]
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	numbers := strings.Trim(fmt.Sprint(slices.Sorted(maps.Keys(m.keys))), "[]")
	m.allowed = fmt.Sprintf("%s_, a key number (%s) and %s", kind, numbers, idSyntax)
	return m, nil
}

// NewUnmasked returns a Masker that only adds the kind: its texts are the kind, an underscore and
// [uidring.ID.Base32]. They sort like their IDs and hide nothing.
func NewUnmasked(kind string) (*Masker, error) {
	if err := checkKind(kind); err != nil {
		return nil, err
	}
	return &Masker{kind: kind, allowed: kind + "_ and " + idSyntax}, nil
}

// Mask returns the face of an ID as a number, masked with the first key. Numbers, unlike texts, do
// not tell their key: after a rotation Unmask returns other IDs. A negative number, which is no ID,
// stays as it is. The zero Masker returns -1.
func (m *Masker) Mask(id uidring.ID) uidring.ID { return m.permute(id, (*permutation).mask) }

// Unmask returns the ID whose face Mask returns. The zero Masker returns -1.
func (m *Masker) Unmask(face uidring.ID) uidring.ID {
	return m.permute(face, (*permutation).unmask)
}

func (m *Masker) permute(id uidring.ID, with func(*permutation, uidring.ID) uidring.ID) uidring.ID {
	switch {
	case m.kind == "":
		return -1
	case m.first == nil || id < 0:
		return id
	}
	return with(m.first, id)
}

// Text returns the face of an ID as a text: the kind, an underscore, the number of the first key,
// and the masked ID in 13 characters of [uidring.ID.Base32]. [Masker.Parse] refuses the text of a
// negative number, and the text of the zero Masker, which has no ID in it.
func (m *Masker) Text(id uidring.ID) string {
	if m.kind == "" {
		return noKey
	}
	text := make([]byte, 0, 80)
	text = append(append(text, m.kind...), '_')
	if m.first != nil {
		text = strconv.AppendInt(text, int64(m.number), 10)
	}
	return string(m.Mask(id).AppendBase32(text))
}

// Parse returns the ID whose face is text, with any of the keys. As in [uidring.ParseBase32], the
// 13 characters may be in lower case. A text of another kind, with an unknown key number or of
// another length gives [uidring.ErrSyntax]; digits above the largest ID give [uidring.ErrRange].
// All errors are of type [*uidring.InvalidError], with the kind as Form.
func (m *Masker) Parse(text string) (uidring.ID, error) {
	if m.kind == "" {
		zero := &Masker{kind: "publicid", allowed: "a Masker that was"}
		return 0, zero.invalid(uidring.ErrSyntax, text, noKey)
	}
	end := strings.LastIndexByte(text, '_')
	if end != len(m.kind) || text[:end] != m.kind {
		return 0, m.invalid(uidring.ErrSyntax, text, "another kind")
	}
	digits := text[end+1:]
	var key *permutation
	if m.first != nil && digits != "" {
		if key = m.keys[int(digits[0])-'0']; key == nil {
			_, size := utf8.DecodeRuneInString(digits)
			return 0, m.invalid(uidring.ErrSyntax, text, "key number "+strconv.Quote(digits[:size]))
		}
		digits = digits[1:]
	}
	id, err := uidring.ParseBase32(digits)
	if cause, ok := errors.AsType[*uidring.InvalidError](err); ok {
		return 0, m.invalid(cause.Kind, text, fmt.Sprintf("base32 %q: %s", cause.Given, cause.Fault))
	}
	if key != nil {
		id = key.unmask(id)
	}
	return id, nil
}

func (m *Masker) invalid(kind error, text, fault string) error {
	const most = 64 // bounds the input that an error keeps and prints
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return &uidring.InvalidError{Form: m.kind, Given: text, Fault: fault, Allowed: m.allowed, Kind: kind}
}

func invalid(field, given, allowed string) error {
	return &uidring.FieldError{Field: field, Given: given, Allowed: allowed, Kind: ErrInvalid}
}

func checkKind(kind string) error {
	switch {
	case kinds.MatchString(kind):
		return nil
	case len(kind) >= 32: // it may be a key, in the wrong place
		return invalid("kind", fmt.Sprintf("of %d bytes", len(kind)), kindSyntax)
	}
	return invalid("kind", strconv.Quote(kind), kindSyntax)
}

// parseKey splits a key into its number and its 16 bytes. Its errors describe the text, and do not
// contain it.
func parseKey(key string) (number int, secret []byte, err error) {
	digit, digits, found := strings.Cut(key, ":")
	if !found || len(digit) != 1 || digit < "1" || digit > "9" {
		return 0, nil, fmt.Errorf("of %d characters without such a number", len(key))
	}
	secret, err = hex.DecodeString(digits)
	switch {
	case len(digits) != 32:
		return 0, nil, fmt.Errorf("with %d digits", len(digits))
	case err != nil:
		return 0, nil, errors.New("with a character that is no hexadecimal digit")
	}
	return int(digit[0] - '0'), secret, nil
}
