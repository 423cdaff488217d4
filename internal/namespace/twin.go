package namespace

import (
	"fmt"
	"strings"
)

// Fold returns the form of a name that all its spellings share: in upper and lower case, and with
// spaces at the end, of which some databases take no notice.
func Fold(name string) string { return strings.ToLower(strings.TrimRight(name, " ")) }

// CheckTwin returns an error if other, a namespace of the same store, differs from name in letter
// case or in spaces at the end only. The two would give out the same worker IDs, and nearly always one is a misspelling.
func CheckTwin(name, other string) error {
	if name == other || Fold(name) != Fold(other) {
		return nil
	}
	return fmt.Errorf("namespace %q differs from %q, which the store has, in letter case or spaces only; "+
		"use %q here as well, or a name that differs in more", name, other, other)
}
