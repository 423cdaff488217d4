package main

import (
	"context"
	"sync/atomic"
	"time"

	bwmarrin "github.com/bwmarrin/snowflake"
	"github.com/edwingeng/slog"
	"github.com/edwingeng/wuid/callback/wuid"
	gofrs "github.com/gofrs/uuid/v5"
	google "github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
	"github.com/sony/sonyflake/v2"
	"github.com/yitter/idgenerator-go/idgen"
)

const (
	increasing = "increasing"
	randomBits = "random bits"
)

// otherLibraries returns what users would pick instead. Where a format caps the rate below what the code can do, and
// the library lets one widen it, there is a line for either.
func otherLibraries() []contestant {
	const yours = "worker ID, yours to assign, unchecked"
	list := []contestant{
		{name: "edwingeng/wuid", bits: 63, order: increasing, worker: "prefix from your store, a new one at each start", ahead: "no time in the ID",
			note: "a counter; sorts by start, not by time", open: openWuid},
		{name: "bwmarrin/snowflake", bits: 63, order: increasing, worker: yours, ahead: aheadNone, perSecond: 4_096_000, open: openBwmarrin(10, 12)},
		{name: "bwmarrin/snowflake, 20 step bits", bits: 63, order: increasing, worker: yours, ahead: aheadNone, open: openBwmarrin(2, 20)},
		{name: "sony/sonyflake", bits: 63, order: increasing, worker: "worker ID, from the IP address, unchecked", ahead: aheadNone, perSecond: 25_600,
			open: openSonyflake(sonyflake.Settings{})},
		{name: "sony/sonyflake, 20 bits per ms", bits: 63, order: increasing, worker: yours, ahead: aheadNone,
			open: openSonyflake(sonyflake.Settings{BitsSequence: 20, BitsMachineID: 4, TimeUnit: time.Millisecond})},
		{name: "yitter/idgenerator", bits: 63, order: increasing, worker: yours, ahead: "up to 2,000 ms, then waits", perSecond: 59_000},
		{name: "yitter/idgenerator, 16 bits", bits: 63, order: increasing, worker: yours, ahead: "up to 2,000 ms, then waits", open: openYitter},
	}
	list = append(list, standardLibrary()...)
	return append(list, []contestant{
		{name: "google/uuid v7", bits: 128, order: increasing, worker: randomBits, ahead: aheadUnbounded, open: openGoogle},
		{name: "google/uuid v7, random pool", bits: 128, order: increasing, worker: randomBits, ahead: aheadUnbounded, open: openGooglePool},
		{name: "gofrs/uuid v7", bits: 128, order: increasing, worker: randomBits, ahead: aheadUnbounded, open: openGofrs},
		{name: "oklog/ulid", bits: 128, order: "by ms", worker: randomBits, ahead: "none", open: openULID},
		{name: "rs/xid", bits: 96, order: "by s", worker: "hash of host name, process ID", ahead: "none", note: "unique up to 16,777,216 a second", open: openXID},
		{name: "segmentio/ksuid", bits: 160, order: "by s", worker: randomBits, ahead: "none", open: openKSUID},
	}...)
}

// openWuid loads the prefix with a callback, as the library recommends for stores that it has no package for. The
// store is a counter that begins above those of all earlier laps.
func openWuid(_ context.Context, worker int64) (source, error) {
	const perLap = 1 << 8
	var prefix atomic.Int64
	prefix.Store(worker * perLap)
	w := wuid.NewWUID("bench", slog.NewDumbLogger())
	if err := w.LoadH28WithCallback(func() (int64, func(), error) { return prefix.Add(1), nil, nil }); err != nil {
		return source{}, err
	}
	return shared(func(n int) (last int64, err error) {
		for range n {
			last = w.Next()
		}
		return last, nil
	}, nothing), nil
}

func openBwmarrin(nodeBits, stepBits uint8) func(context.Context, int64) (source, error) {
	return func(context.Context, int64) (source, error) {
		// NewNode copies the variables of the package. Laps do not overlap.
		bwmarrin.NodeBits, bwmarrin.StepBits = nodeBits, stepBits
		node, err := bwmarrin.NewNode(1)
		if err != nil {
			return source{}, err
		}
		return shared(func(n int) (last int64, err error) {
			for range n {
				last = int64(node.Generate())
			}
			return last, nil
		}, nothing), nil
	}
}

func openSonyflake(s sonyflake.Settings) func(context.Context, int64) (source, error) {
	s.MachineID = func() (int, error) { return 1, nil }
	return func(context.Context, int64) (source, error) {
		g, err := sonyflake.New(s)
		if err != nil {
			return source{}, err
		}
		return shared(func(n int) (last int64, err error) {
			for range n {
				if last, err = g.NextID(); err != nil {
					return 0, err
				}
			}
			return last, nil
		}, nothing), nil
	}
}

func openYitter(context.Context, int64) (source, error) {
	options := idgen.NewIdGeneratorOptions(1)
	options.SeqBitLength = 16
	g := idgen.NewDefaultIdGenerator(options)
	return shared(func(n int) (last int64, err error) {
		for range n {
			last = g.NewLong()
		}
		return last, nil
	}, nothing), nil
}

func openGoogle(context.Context, int64) (source, error) {
	return shared(func(n int) (last int64, err error) {
		for range n {
			id, err := google.NewV7()
			if err != nil {
				return 0, err
			}
			last = int64(id[15])
		}
		return last, nil
	}, nothing), nil
}

// openGooglePool reads the random bytes of many IDs at once, which the library leaves to choose.
func openGooglePool(ctx context.Context, worker int64) (source, error) {
	google.EnableRandPool()
	s, err := openGoogle(ctx, worker)
	s.close = func() error {
		google.DisableRandPool()
		return nil
	}
	return s, err
}

func openGofrs(context.Context, int64) (source, error) {
	g := gofrs.NewGen()
	return shared(func(n int) (last int64, err error) {
		for range n {
			id, err := g.NewV7()
			if err != nil {
				return 0, err
			}
			last = int64(id[15])
		}
		return last, nil
	}, nothing), nil
}

func openULID(context.Context, int64) (source, error) {
	return shared(func(n int) (last int64, err error) {
		for range n {
			last = int64(ulid.Make()[15])
		}
		return last, nil
	}, nothing), nil
}

func openXID(context.Context, int64) (source, error) {
	return shared(func(n int) (last int64, err error) {
		for range n {
			last = int64(xid.New()[11])
		}
		return last, nil
	}, nothing), nil
}

func openKSUID(context.Context, int64) (source, error) {
	return shared(func(n int) (last int64, err error) {
		for range n {
			id, err := ksuid.NewRandom()
			if err != nil {
				return 0, err
			}
			last = int64(id[19])
		}
		return last, nil
	}, nothing), nil
}
