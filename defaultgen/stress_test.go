package defaultgen_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
)

// A bitmap has one bit for each ID of a span.
type bitmap []atomic.Uint64

// set marks i and says whether it was unmarked.
func (b bitmap) set(i int64) bool {
	bit := uint64(1) << (i & 63)
	return b[i>>6].Or(bit)&bit == 0
}

// Each ID is issued exactly once and none is left out: IDs of a unit are numbered without a gap.
func TestEveryIDIsIssuedExactlyOnce(t *testing.T) {
	const all, sequenceBits = 64_000, 12
	for _, goroutines := range []int{1, 2, 8, 64} {
		for _, perUnit := range []int64{1000, 20_000} { // readings of the clock: units with IDs left, and used up
			for _, batch := range []int{1, 100} {
				t.Run(fmt.Sprintf("%d goroutines, %d readings, batches of %d", goroutines, perUnit, batch), func(t *testing.T) {
					cfg := complete(defaultgen.Config{Layout: bitsalloc.Snowflake(), SequenceStart: defaultgen.Zero})
					var reads atomic.Int64
					cfg.Now = func() time.Time { return cfg.Epoch.Add(time.Duration(10+reads.Add(1)/perUnit) * time.Millisecond) }
					g := open(t, cfg)
					seen := make(bitmap, 1<<20>>6)
					var total atomic.Int64
					var wg sync.WaitGroup
					for range goroutines {
						wg.Go(func() {
							last := int64(0)
							ids := make([]int64, batch)
							for taken := 0; taken < all/goroutines; {
								n, err := g.Fill(ids)
								if err != nil && !errors.Is(err, defaultgen.ErrSequenceExhausted) && !errors.Is(err, defaultgen.ErrClockBack) {
									t.Errorf("Fill: %v", err)
									return
								}
								for _, id := range ids[:n] {
									f, err := g.Parse(id)
									if err != nil || id <= last || !seen.set(f.Delta<<sequenceBits|f.Sequence) {
										t.Errorf("ID %d after %d: bad or issued twice: %v", id, last, err)
										return
									}
									last = id
								}
								total.Add(int64(n))
								taken += n
							}
						})
					}
					wg.Wait()
					checkNoGaps(t, seen, sequenceBits, total.Load())
				})
			}
		}
	}
}

// checkNoGaps asks that the bits of each unit begin with its first and have no gap, and that all
// are there.
func checkNoGaps(t *testing.T, seen bitmap, sequenceBits int, total int64) {
	t.Helper()
	count := int64(0)
	for i := range int64(len(seen)) << 6 {
		if seen[i>>6].Load()>>(i&63)&1 == 0 {
			continue
		}
		count++
		if before := i - 1; i&(1<<sequenceBits-1) != 0 && seen[before>>6].Load()>>(before&63)&1 == 0 {
			t.Fatalf("unit %d: sequence %d without the one before", i>>sequenceBits, i&(1<<sequenceBits-1))
		}
	}
	if count != total {
		t.Errorf("%d IDs were marked, but %d issued", count, total)
	}
}

// The checks that UidGenerator makes of its own default generator: 100,000 IDs, serial and with two
// goroutines for each processor, are positive, parse, and are all different.
func TestTheChecksOfTheOriginal(t *testing.T) {
	const total = 100_000
	for _, goroutines := range []int{1, 2 * runtime.GOMAXPROCS(0)} {
		check := func(t *testing.T, g *defaultgen.Generator) {
			var taken atomic.Int64
			streams := make([]map[int64]bool, goroutines)
			var wg sync.WaitGroup
			for i := range streams {
				streams[i] = make(map[int64]bool)
				wg.Go(func() {
					for taken.Add(1) <= total {
						id, err := g.NextContext(t.Context())
						if err != nil {
							t.Error(err)
							return
						}
						streams[i][id] = true
					}
				})
			}
			wg.Wait()
			all := make(map[int64]bool, total)
			for _, stream := range streams {
				for id := range stream {
					all[id] = true
					if f := parse(t, g, id); id <= 0 || f.String() == "" || f.WorkerID != 1 {
						t.Fatalf("ID %d: %v", id, f)
					}
				}
			}
			if len(all) != total {
				t.Errorf("%d different IDs, want %d", len(all), total)
			}
		}
		t.Run(fmt.Sprintf("seconds, %d goroutines", goroutines), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := open(t, defaultgen.Config{Layout: bitsalloc.Default()})
				if d := elapsed(func() { check(t, g) }); d != total/8192*time.Second {
					t.Errorf("%d IDs took %v, want %v", total, d, total/8192*time.Second)
				}
			})
		})
		t.Run(fmt.Sprintf("milliseconds of real time, %d goroutines", goroutines), func(t *testing.T) {
			check(t, open(t, defaultgen.Config{Layout: bitsalloc.Snowflake()}))
		})
	}
}

// Calls that follow one another, on any goroutines, get increasing IDs, and no caller waits for
// ever.
func TestIDsIncreaseAcrossGoroutines(t *testing.T) {
	for _, goroutines := range []int{2, 8, 64} {
		g := open(t, defaultgen.Config{Layout: bitsalloc.Snowflake()})
		var log ledger
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for range 40_000 / goroutines {
					log.take(t, func() (int64, error) { return g.NextContext(t.Context()) })
				}
			})
		}
		wg.Wait()
		log.check(t, 40_000)
	}
}

// checkOneRange asks that the sequence numbers of a unit are all different and leave none out.
func checkOneRange(t *testing.T, delta int64, sequences []int64) {
	t.Helper()
	slices.Sort(sequences)
	for i, s := range sequences {
		if s != sequences[0]+int64(i) {
			t.Fatalf("unit %d: sequence %d after %d", delta, s, sequences[i-1])
		}
	}
}
