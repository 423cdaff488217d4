//go:build go1.27

package main

import (
	"context"
	"uuid"
)

// standardLibrary returns the contestants of the standard library: since Go 1.27 it has a package uuid.
func standardLibrary() []contestant {
	return []contestant{{name: "Go's uuid v7", bits: 128, order: increasing, worker: randomBits, ahead: aheadUnbounded, open: openUUID}}
}

func openUUID(context.Context, int64) (source, error) {
	return shared(func(n int) (last int64, err error) {
		for range n {
			last = int64(uuid.NewV7()[15])
		}
		return last, nil
	}, nothing), nil
}
