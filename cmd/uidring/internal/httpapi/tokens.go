package httpapi

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	shortestToken, longestToken = 16, 512 // bytes
	longestName                 = 64      // bytes
	mostTokens                  = 1000    // each is compared with the token of every request
)

// Tokens is a set of bearer tokens, each with the name of its client. It holds only hashes, and is
// immutable. The zero value is the empty set: clients then need no token.
type Tokens struct{ known []token }

type token struct {
	name string
	hash [sha256.Size]byte
}

// ParseTokens reads a token file: a name and a token per line, separated by spaces or tabs. It
// skips empty lines and lines that begin with #. Names have up to 64 letters, digits and . _ -.
// Tokens have 16 to 512 letters, digits and - . _ ~ + / =, see RFC 6750. Two lines may have the
// same name while a token is replaced; they share a limit. A file has 1 to 1,000 tokens: an empty
// set would open the server to all clients. ParseTokens reports all mistakes at once, by line.
// Errors quote no word of the file, since it may be a token.
func ParseTokens(file []byte) (Tokens, error) {
	var known []token
	var errs []error
	seen := make(map[[sha256.Size]byte]int) // line of a token
	number := 0
	for line := range bytes.Lines(file) {
		number++
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		t, err := parseToken(fields)
		if err == nil && seen[t.hash] > 0 {
			err = fmt.Errorf("the token of line %d again, allowed: each token once", seen[t.hash])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("token file, line %d: %w", number, err))
			continue
		}
		seen[t.hash] = number
		known = append(known, t)
	}
	if len(known) == 0 && errs == nil {
		errs = append(errs, errors.New("token file: no tokens, allowed: 1 or more; without a token file, clients need no token"))
	}
	if len(known) > mostTokens {
		errs = append(errs, fmt.Errorf("token file: %d tokens, allowed: at most %d", len(known), mostTokens))
	}
	if errs != nil {
		return Tokens{}, errors.Join(errs...)
	}
	return Tokens{known: known}, nil
}

func parseToken(fields []string) (token, error) {
	if len(fields) != 2 {
		return token{}, fmt.Errorf("%d words, allowed: a name and a token", len(fields))
	}
	name, secret := fields[0], fields[1]
	var errs []error
	if len(name) > longestName || strings.Trim(name, alphanumeric+"._-") != "" {
		errs = append(errs, fmt.Errorf("a name of %d bytes, allowed: up to %d letters, digits and . _ -", len(name), longestName))
	}
	if len(secret) < shortestToken || len(secret) > longestToken {
		errs = append(errs, fmt.Errorf("a token of %d bytes, allowed: %d to %d", len(secret), shortestToken, longestToken))
	}
	if strings.Trim(secret, alphanumeric+"-._~+/=") != "" {
		errs = append(errs, errors.New("a token with other characters than letters, digits and - . _ ~ + / ="))
	}
	return token{name: name, hash: sha256.Sum256([]byte(secret))}, errors.Join(errs...)
}

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Len returns the number of tokens.
func (t Tokens) Len() int { return len(t.known) }

// Shares reports whether t and other have a token in common.
func (t Tokens) Shares(other Tokens) bool {
	return slices.ContainsFunc(t.known, func(a token) bool {
		return slices.ContainsFunc(other.known, func(b token) bool { return a.hash == b.hash })
	})
}

// String returns the number of tokens, and no secrets.
func (t Tokens) String() string { return fmt.Sprintf("tokens: %d", t.Len()) }

// find returns the name of a token. Its time does not reveal whether the secret is known: it
// compares the hash with all known hashes.
func (t Tokens) find(secret string) (name string, ok bool) {
	hash, found := sha256.Sum256([]byte(secret)), -1
	for i := range t.known {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(hash[:], t.known[i].hash[:]), i, found)
	}
	if found < 0 {
		return "", false
	}
	return t.known[found].name, true
}
