//go:build !go1.27

package contestants

// standardLibrary returns nothing: the standard library has a package uuid since Go 1.27.
func standardLibrary() []Contestant { return nil }
