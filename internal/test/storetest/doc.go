// Package storetest holds the tests that package sqlassigner has to pass on every database. The
// drivers live in different modules, and so do the tests that call this package with a real one.
package storetest
