// Package namespace says which names stores accept for a namespace of worker IDs.
package namespace

import (
	"fmt"
	"strings"
)

const longest = 64

// Check returns an error unless name has 1 to 64 letters, digits, dots, underscores and hyphens: what every
// store can keep as it is, and no two names of which are one to any.
func Check(name string) error {
	foreign := func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}
	if name == "" || len(name) > longest || strings.ContainsFunc(name, foreign) {
		return fmt.Errorf("namespace of Leases is %q, allowed: 1 to %d of the characters a-z A-Z 0-9 . _ -", name, longest)
	}
	return nil
}
