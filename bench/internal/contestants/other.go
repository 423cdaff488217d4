package contestants

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

	"github.com/uidring/uidring/internal/test/gauge"
)

// The names of libraries that the bars refer to.
const (
	Wuid         = "edwingeng/wuid"
	BwmarrinWide = "bwmarrin/snowflake, 20 step bits"
)

// otherLibraries returns the alternatives to this library. If a format caps the rate below the
// speed of the code, and the library has an option to widen it, both are in the list.
func otherLibraries() []Contestant {
	const (
		yours = "worker ID, yours to assign, unchecked"
		ms    = 1000 // of them a second has
		// With 41 bits of milliseconds, 60 years, and 12 of a worker ID, 10 bits are left.
		comparable = 1 << 10 * ms // sonyflake: 32 bits of half seconds leave 19
	)
	list := []Contestant{
		{Name: Wuid, Bits: 63, Order: increasing, Worker: "prefix from your store, a new one at each start", Ahead: "no time in the ID",
			Note: "a counter; sorts by start, not by time", Rate: &Rate{Name: "edwingeng/wuid"}, Open: openWuid},
		{Name: "bwmarrin/snowflake", Bits: 63, Order: increasing, Worker: yours, Ahead: Waits, PerSecond: 4_096_000,
			Rate: &Rate{"bwmarrin/snowflake", 1 << 12 * ms, comparable}, Open: openBwmarrin(10, 12)},
		{Name: BwmarrinWide, Bits: 63, Order: increasing, Worker: yours, Ahead: Waits, Open: openBwmarrin(2, 20)},
		{Name: "sony/sonyflake", Bits: 63, Order: increasing, Worker: "worker ID, from the IP address, unchecked", Ahead: Waits, PerSecond: 25_600,
			Rate: &Rate{"sony/sonyflake", 1 << 8 * ms / 10, 1 << 19 * 2}, Open: openSonyflake(sonyflake.Settings{})},
		{Name: "sony/sonyflake, 20 bits per ms", Bits: 63, Order: increasing, Worker: yours, Ahead: Waits,
			Open: openSonyflake(sonyflake.Settings{BitsSequence: 20, BitsMachineID: 4, TimeUnit: time.Millisecond})},
		{Name: "yitter/idgenerator", Bits: 63, Order: increasing, Worker: yours, Ahead: "up to 2,000 ms, then waits", PerSecond: 59_000,
			Rate: &Rate{"yitter/idgenerator", (1<<6 - 5) * ms, comparable - 5*ms}}, // it reserves five numbers
		{Name: "yitter/idgenerator, 16 bits", Bits: 63, Order: increasing, Worker: yours, Ahead: "up to 2,000 ms, then waits", Open: opened(yitter)},
	}
	list = append(list, standardLibrary()...)
	return append(list, []Contestant{
		{Name: "google/uuid v7", Bits: 128, Order: increasing, Worker: randomBits, Ahead: aheadUnbounded, Rate: &Rate{Name: "google/uuid v7"}, Open: opened(of(google.NewV7))},
		{Name: "google/uuid v7, random pool", Bits: 128, Order: increasing, Worker: randomBits, Ahead: aheadUnbounded, Open: opened(googlePool)},
		{Name: "gofrs/uuid v7", Bits: 128, Order: increasing, Worker: randomBits, Ahead: aheadUnbounded, Rate: &Rate{Name: "gofrs/uuid v7"}, Open: opened(of(gofrs.NewV7))},
		{Name: "oklog/ulid", Bits: 128, Order: "by ms", Worker: randomBits, Ahead: "none", Rate: &Rate{Name: "oklog/ulid"}, Open: opened(of(func() (ulid.ULID, error) { return ulid.Make(), nil }))},
		{Name: "rs/xid", Bits: 96, Order: "by s", Worker: "hash of host name, process ID", Ahead: "none", Note: "unique up to 16,777,216 a second", PerSecond: 1 << 24, Rate: &Rate{Name: "rs/xid", Default: 1 << 24}, Open: opened(of(func() (xid.ID, error) { return xid.New(), nil }))},
		{Name: "segmentio/ksuid", Bits: 160, Order: "by s", Worker: randomBits, Ahead: "none", Rate: &Rate{Name: "segmentio/ksuid"}, Open: opened(of(ksuid.NewRandom))},
	}...)
}

// openWuid loads the prefix with a callback, as the library recommends for stores without a
// package of its own. The store is a counter that begins above the prefixes of all earlier laps.
func openWuid(_ context.Context, worker int64) (gauge.Source, error) {
	const perLap = 1 << 8
	var prefix atomic.Int64
	prefix.Store(worker * perLap)
	w := wuid.NewWUID("bench", slog.NewDumbLogger())
	err := w.LoadH28WithCallback(func() (int64, func(), error) { return prefix.Add(1), nil, nil })
	return gauge.Shared(func(n int) (last int64, err error) {
		for range n {
			last = w.Next()
		}
		return last, nil
	}, gauge.Nothing), err
}

func openBwmarrin(nodeBits, stepBits uint8) func(context.Context, int64) (gauge.Source, error) {
	return func(context.Context, int64) (gauge.Source, error) {
		// NewNode copies the variables of the package. Laps do not overlap.
		bwmarrin.NodeBits, bwmarrin.StepBits = nodeBits, stepBits
		node, err := bwmarrin.NewNode(1)
		return gauge.Shared(func(n int) (last int64, err error) {
			for range n {
				last = int64(node.Generate())
			}
			return last, nil
		}, gauge.Nothing), err
	}
}

func openSonyflake(s sonyflake.Settings) func(context.Context, int64) (gauge.Source, error) {
	s.MachineID = func() (int, error) { return 1, nil }
	start := func(context.Context, int64) (*sonyflake.Sonyflake, error) { return sonyflake.New(s) }
	return Started(start, func(g *sonyflake.Sonyflake) gauge.Source { return gauge.Shared(gauge.Each(g.NextID), gauge.Nothing) })
}

func yitter() gauge.Source {
	options := idgen.NewIdGeneratorOptions(1)
	options.SeqBitLength = 16
	g := idgen.NewDefaultIdGenerator(options)
	return gauge.Shared(gauge.Each(func() (int64, error) { return g.NewLong(), nil }), gauge.Nothing)
}

// of returns a source of IDs of bytes.
func of[ID ~[12]byte | ~[16]byte | ~[20]byte](next func() (ID, error)) func() gauge.Source {
	return func() gauge.Source {
		return gauge.Shared(func(n int) (last int64, err error) {
			for range n {
				id, err := next()
				if err != nil {
					return 0, err
				}
				last = int64(id[11])
			}
			return last, nil
		}, gauge.Nothing)
	}
}

// googlePool reads the random bytes of many IDs at once, an option of the library.
func googlePool() gauge.Source {
	google.EnableRandPool()
	s := of(google.NewV7)()
	s.Close = func() error {
		google.DisableRandPool()
		return nil
	}
	return s
}
