package uidringtest_test

import (
	"fmt"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/defaultgen"
	"github.com/uidring/uidring/uidringtest"
)

// An orderBook is the program under test. Its field ids takes any generator.
type orderBook struct {
	ids interface {
		Next() (int64, error)
	}
}

func (b *orderBook) open() string {
	id, err := b.ids.Next()
	if err != nil {
		return "not opened: " + err.Error()
	}
	return "opened " + uidring.ID(id).String()
}

// The test of a program that must cope with a store that is out of reach.
func ExampleGenerator() {
	ids := uidringtest.New(1000, 1)
	ids.Fail(nil, cached.ErrLeaseExhausted) // the second call fails
	book := orderBook{ids}
	for range 3 {
		fmt.Println(book.open())
	}
	// Output:
	// opened 1000
	// not opened: uidring: no worker ID is held for the unit of time
	// opened 1001
}

// A real generator with a worker ID and a time of the test's choice.
func ExampleWorker() {
	clock := uidringtest.NewClock(time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC))
	g, err := defaultgen.New(defaultgen.Config{Assigner: uidringtest.Worker(7), Now: clock.Now})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	for range 3 {
		fmt.Println(g.Next())
		clock.Advance(30 * time.Minute)
	}
	// Output:
	// 176636543002272885 <nil>
	// 176698390531335442 <nil>
	// 176760238060396979 <nil>
}
