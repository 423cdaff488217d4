package segment_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/segment"
)

// folder returns a source in a temporary folder; for real, use a folder that stays.
func folder() (source segment.Source, remove func()) {
	dir, err := os.MkdirTemp("", "counters-")
	if err != nil {
		panic(err)
	}
	// AllowUndurable only for this example: some hosts keep temporary files in memory.
	return fileassigner.SegmentSource(dir, fileassigner.SegmentConfig{AllowUndurable: true}), func() { _ = os.RemoveAll(dir) }
}

func Example() {
	source, remove := folder()
	defer remove()
	orders, err := segment.New(segment.Config{Name: "orders", Source: source})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer orders.Close()
	for range 3 {
		fmt.Println(orders.Next())
	}
	// Output:
	// 1 <nil>
	// 2 <nil>
	// 3 <nil>
}

// Two days of order numbers in UTC.
func ExampleNumbers() {
	source, remove := folder()
	defer remove()
	now := time.Date(2026, time.November, 22, 23, 59, 0, 0, time.UTC)
	numbers, err := segment.NewNumbers(segment.NumbersConfig{
		Counter:   segment.Config{Name: "orders", Source: source, Step: 20, MaxStep: 200},
		Prefix:    "ORD-",
		Separator: "-",
		Width:     6,
		Now:       func() time.Time { return now }, // only for this example
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer numbers.Close()
	for range 3 {
		fmt.Println(numbers.Next(context.Background()))
		now = now.Add(30 * time.Second)
	}
	// Output:
	// ORD-20261122-000001 <nil>
	// ORD-20261122-000002 <nil>
	// ORD-20261123-000001 <nil>
}

// After a restore, before any process starts: the counter goes on above the largest ID that was
// ever issued.
func ExampleRecover() {
	source, remove := folder()
	defer remove()
	const largest = 41_999 // such as SELECT MAX(id) FROM orders
	if err := segment.Recover(context.Background(), source, "orders", largest); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(source.Advance(context.Background(), "orders", 1000))
	// Output:
	// 42000 to 42999 <nil>
}
