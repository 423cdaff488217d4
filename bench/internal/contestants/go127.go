//go:build go1.27

package contestants

import (
	"uuid"

	"github.com/uidring/uidring/bench/internal/load"
)

// standardLibrary returns the contestants of the standard library: since Go 1.27 it has a package
// uuid.
func standardLibrary() []Contestant {
	return []Contestant{{Name: "Go's uuid v7", Bits: 128, Order: increasing, Worker: randomBits, Ahead: aheadUnbounded, Open: opened(goUUID)}}
}

func goUUID() load.Source {
	return load.Shared(func(n int) (last int64, err error) {
		for range n {
			last = int64(uuid.NewV7()[15])
		}
		return last, nil
	}, load.Close)
}
