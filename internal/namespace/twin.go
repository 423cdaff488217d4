package namespace

import (
	"fmt"
	"strings"
)

// Fold returns the form of a name that all its spellings in upper and lower case share.
func Fold(name string) string { return strings.ToLower(name) }

// CheckTwin returns an error if other, a namespace of the same store, differs from name in letter
// case only. The two would give out the same worker IDs, and nearly always one is a misspelling.
func CheckTwin(name, other string) error {
	if name == other || Fold(name) != Fold(other) {
		return nil
	}
	return fmt.Errorf("namespace %q differs from %q, which the store has, in letter case only; "+
		"use %q here as well, or a name that differs in more than case", name, other, other)
}
