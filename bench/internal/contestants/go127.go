//go:build go1.27

package contestants

import "uuid"

// standardLibrary returns the contestants of the standard library: since Go 1.27 it has a package
// uuid.
func standardLibrary() []Contestant {
	return []Contestant{{Name: "Go's uuid v7", Bits: 128, Order: increasing, Worker: randomBits, Ahead: aheadUnbounded, Rate: &Rate{Name: "Go's uuid v7"}, Open: opened(of(func() (uuid.UUID, error) { return uuid.NewV7(), nil }))}}
}
