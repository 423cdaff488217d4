package cached_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/uidringtest"
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
	g, err := cached.New(cached.Config{Assigner: uidringtest.Worker(13)})
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
	g, err := cached.New(cached.Config{Assigner: uidringtest.Worker(14), MaxAhead: time.Second})
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

// Each worker keeps a lane for as long as it runs.
func ExampleLane() {
	g, err := cached.New(cached.Config{Assigner: uidringtest.Worker(20)})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()

	var workers errgroup.Group
	for range 4 {
		workers.Go(func() error {
			lane := g.Lane()
			for range 1_000_000 {
				id, err := lane.Next()
				if err != nil {
					return err
				}
				_ = id // the key of a row
			}
			return nil
		})
	}
	fmt.Println(workers.Wait())
	// Output: <nil>
}

// Consecutive IDs for rows that are written together, without a slice of them.
func ExampleGenerator_Reserve() {
	g, err := cached.New(cached.Config{Assigner: uidringtest.Worker(18)})
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
