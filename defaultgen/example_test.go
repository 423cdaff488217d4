package defaultgen_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/uidringtest"
)

// One generator for the whole process. The worker ID is the operator's; package sqlassigner takes
// one from a database.
func Example() {
	g, err := defaultgen.New(defaultgen.Config{
		Layout:   bitsalloc.Snowflake(),
		Assigner: assigner.Static(12),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	first, err := g.NextContext(context.Background()) // waits for the next millisecond when this one is used up
	if err != nil {
		log.Fatal(err)
	}
	second, err := g.NextContext(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fields, err := g.Parse(second)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("increasing:", first < second)
	fmt.Println("worker:", fields.WorkerID, "- issued just now:", time.Since(fields.Time) < time.Minute)
	// Output:
	// increasing: true
	// worker: 12 - issued just now: true
}

// A clock that stands still makes the fields plain: one second of 4 IDs is used up, and the clock
// goes back.
func ExampleGenerator_Next() {
	clock := uidringtest.NewClock(time.Date(2026, time.March, 1, 12, 0, 1, 0, time.UTC))
	g, err := defaultgen.New(defaultgen.Config{
		Layout:   bitsalloc.Layout{DeltaBits: 31, WorkerBits: 10, SequenceBits: 2, Unit: time.Second},
		Assigner: uidringtest.Worker(12),
		Now:      clock.Now,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	for range 5 {
		id, err := g.Next()
		if errors.Is(err, defaultgen.ErrSequenceExhausted) {
			fmt.Println(err)
			break
		}
		fields, _ := g.Parse(id)
		fmt.Println(fields)
	}
	clock.Advance(-5 * time.Second)
	_, err = g.Next()
	after, passes := uidring.RetryAfter(err)
	fmt.Println(err, after, passes)
	// Output:
	// 21056720944 (2026-03-01T12:00:01Z, datacenter 0, worker 12, sequence 0)
	// 21056720945 (2026-03-01T12:00:01Z, datacenter 0, worker 12, sequence 1)
	// 21056720946 (2026-03-01T12:00:01Z, datacenter 0, worker 12, sequence 2)
	// 21056720947 (2026-03-01T12:00:01Z, datacenter 0, worker 12, sequence 3)
	// uidring: the sequence of this unit is used up
	// uidring: the clock is behind the last used unit (worker ID 12): by 5s 5s true
}
