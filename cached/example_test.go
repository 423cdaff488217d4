package cached_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

// Worker 12 is the operator's choice. It comes back after a restart, so New wants a decision: with
// MaxAhead, New waits that long, and no ID repeats as long as the clock does not go back.
func Example() {
	g, err := cached.New(cached.Config{Assigner: assigner.Static(12), DatacenterID: 3, MaxAhead: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	id, err := g.Next()
	if err != nil {
		log.Fatal(err)
	}
	f, err := g.Parse(id)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("datacenter %d, worker %d\n", f.DatacenterID, f.WorkerID)
	// Output: datacenter 3, worker 12
}

func ExampleGenerator_Fill() {
	g, err := cached.New(cached.Config{Assigner: assigner.Static(13), AllowReuse: true})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	ids := make([]int64, 1000)
	n, err := g.Fill(ids)
	fmt.Println(n, err, ids[0] < ids[999])
	// Output: 1000 <nil> true
}

// A generator that may not run ahead has 8,192 IDs for each second. NextContext waits for the next
// one.
func ExampleGenerator_NextContext() {
	g, err := cached.New(cached.Config{Assigner: assigner.Static(14), MaxAhead: time.Second, AllowReuse: true})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	for range 10_000 {
		if _, err := g.NextContext(ctx); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(g.Stats().Issued)
	// Output: 10000
}

// All mistakes are reported together.
func ExampleConfig_Validate() {
	err := cached.Config{
		Layout:        bitsalloc.Default(),
		DatacenterID:  32,
		Assigner:      assigner.Static(16),
		PaddingFactor: 100,
	}.Validate()
	fmt.Println(errors.Is(err, cached.ErrInvalidConfig))
	fmt.Println(err)
	if mistake, ok := errors.AsType[*uidring.FieldError](err); ok {
		fmt.Println(mistake.Field, mistake.Given)
	}
	// Output:
	// true
	// uidring: invalid config: DatacenterID 32, allowed: 0 to 31 with layout 28/5/17/13@1s
	// uidring: invalid config: PaddingFactor 100, allowed: 1 to 99
	// DatacenterID 32
}

// On many cores, requests that take an ID each get lanes from a pool: it keeps one for each core.
func ExampleLane() {
	g, err := cached.New(cached.Config{Assigner: assigner.Static(20), AllowReuse: true})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	lanes := sync.Pool{New: func() any { return g.Lane() }}
	next := func() (int64, error) {
		lane := lanes.Get().(*cached.Lane)
		defer lanes.Put(lane)
		return lane.Next()
	}

	var seen sync.Map
	var requests sync.WaitGroup
	for range 1000 {
		requests.Go(func() {
			if id, err := next(); err != nil {
				fmt.Println(err)
			} else if _, twice := seen.LoadOrStore(id, true); twice {
				fmt.Println("twice:", id)
			}
		})
	}
	requests.Wait()
	// Output:
}

// Consecutive IDs for rows that are written together, without a slice of them.
func ExampleGenerator_Reserve() {
	g, err := cached.New(cached.Config{Assigner: assigner.Static(18), AllowReuse: true})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	for left := 10_000; left > 0; {
		first, got, err := g.Reserve(left) // fewer if a unit of time ends before
		if err != nil {
			log.Fatal(err)
		}
		_ = first // the rows get first, first+1, ..., first+got-1
		left -= got
	}
	fmt.Println(g.Stats().Issued)
	// Output: 10000
}
