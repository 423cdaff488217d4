//go:build !go1.27

package main

// standardLibrary returns nothing: the standard library has a package uuid since Go 1.27.
func standardLibrary() []contestant { return nil }
