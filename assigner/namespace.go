package assigner

import (
	"fmt"
	"strings"
)

const longestNamespace = 64

// CheckNamespace returns an error unless name has 1 to 64 letters, digits, dots, underscores and
// hyphens: what every store can keep as it is. It is for stores.
func CheckNamespace(name string) error {
	foreign := func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}
	if name == "" || len(name) > longestNamespace || strings.ContainsFunc(name, foreign) {
		return fmt.Errorf("assigner: namespace %q, allowed: 1 to %d of the characters a-z A-Z 0-9 . _ -", name, longestNamespace)
	}
	return nil
}

// FoldNamespace returns the form of a name that all its spellings share: in upper and lower case,
// and with spaces at the end, of which some databases take no notice. It is for stores.
func FoldNamespace(name string) string { return strings.ToLower(strings.TrimRight(name, " ")) }

// CheckNamespaceTwin returns [ErrWorkerOverlap] if other, a namespace of the same store, differs
// from name in letter case or in spaces at the end only. The two would give out the same worker
// IDs, and nearly always one is a misspelling. It is for stores.
func CheckNamespaceTwin(name, other string) error {
	if name == other || FoldNamespace(name) != FoldNamespace(other) {
		return nil
	}
	return fmt.Errorf("%w: namespace %q differs from %q, which the store has, in letter case or spaces only; "+
		"use %q here as well, or a name that differs in more", ErrWorkerOverlap, name, other, other)
}
