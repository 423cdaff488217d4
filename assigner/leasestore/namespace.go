package leasestore

import (
	"fmt"
	"regexp"
	"strings"
)

var allowedNamespace = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,64}$`)

// CheckNamespace returns an error unless name consists of 1 to 64 ASCII letters, digits, dots,
// underscores and hyphens, and not of dots alone: every store keeps such a name unchanged. Stores
// call it.
func CheckNamespace(name string) error {
	if !allowedNamespace.MatchString(name) || strings.Trim(name, ".") == "" {
		return fmt.Errorf("leasestore: namespace %q, allowed: 1 to 64 of the characters a-z A-Z 0-9 . _ -, and not dots alone", name)
	}
	return nil
}

// FoldNamespace returns a namespace in lower case and without trailing spaces, because some
// databases ignore both differences. Stores use it to compare names.
func FoldNamespace(name string) string { return strings.ToLower(strings.TrimRight(name, " ")) }

// CheckNamespaceTwin returns [ErrOverlap] if other, a namespace of the same store, differs
// from name only in letter case or trailing spaces. Such a name is nearly always a misspelling, and
// both namespaces would give out the same worker IDs. Stores call it.
func CheckNamespaceTwin(name, other string) error {
	if name == other || FoldNamespace(name) != FoldNamespace(other) {
		return nil
	}
	return fmt.Errorf("%w: namespace %q differs from %q, which the store has, in letter case or spaces only; "+
		"use %q here as well, or a name that differs in more", ErrOverlap, name, other, other)
}
