package bitsalloc_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

func Example() {
	a, err := bitsalloc.New(bitsalloc.Default(), bitsalloc.DefaultEpoch())
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)
	id, err := a.Allocate(a.Delta(at), 4, 9, 7)
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, err := a.Parse(id)
	fmt.Println(fields, err)
	// Output: 176636547297255431 (2026-03-01T12:00:00Z, datacenter 4, worker 9, sequence 7) <nil>
}

// An ID of Baidu's UidGenerator, with the epoch that project starts from.
func ExampleAllocator_Parse() {
	a, err := bitsalloc.New(bitsalloc.Baidu(), time.Date(2016, time.May, 19, 16, 0, 0, 0, time.UTC))
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, err := a.Parse(3200169789968523265)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("worker", fields.WorkerID, "at", fields.Time)
	text, err := json.Marshal(fields)
	fmt.Println(string(text), err)
	var read bitsalloc.Fields
	err = json.Unmarshal(text, &read)
	fmt.Println(read == fields, err)
	// Output:
	// worker 21 at 2019-05-02 15:26:39 +0000 UTC
	// {"UID":"3200169789968523265","timestamp":"2019-05-02T15:26:39Z","delta":"93137199","datacenterId":"0","workerId":"21","sequence":"1"} <nil>
	// true <nil>
}

// The rows of one day, by their IDs alone.
func ExampleAllocator_Range() {
	a, err := bitsalloc.New(bitsalloc.Default(), time.Time{})
	if err != nil {
		fmt.Println(err)
		return
	}
	day := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)
	first, last := a.Range(day, day.AddDate(0, 0, 1))
	fmt.Printf("SELECT * FROM orders WHERE id BETWEEN %d AND %d\n", first, last)
	for _, id := range []int64{first - 1, first, last, last + 1} {
		fields, err := a.Parse(id)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(fields.Time.Format(time.DateTime))
	}
	// Output:
	// SELECT * FROM orders WHERE id BETWEEN 175152202304716800 AND 178120883699711999
	// 2026-02-28 23:59:59
	// 2026-03-01 00:00:00
	// 2026-03-01 23:59:59
	// 2026-03-02 00:00:00
}

// Deletes rows older than 90 days. While there are none, MinAt is 1 and the query deletes nothing.
func ExampleAllocator_MinAt() {
	a, err := bitsalloc.New(bitsalloc.Default(), time.Time{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, today := range []time.Time{
		time.Date(2026, time.February, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC),
	} {
		fmt.Println("DELETE FROM events WHERE id <", a.MinAt(today.AddDate(0, 0, -90)))
	}
	// Output:
	// DELETE FROM events WHERE id < 1
	// DELETE FROM events WHERE id < 181089565094707200
}

// The layout of a flag or a configuration file.
func ExampleParseLayout() {
	layout, err := bitsalloc.ParseLayout("41/0/10/12@1ms")
	fmt.Println(layout == bitsalloc.Snowflake(), err)
	_, err = bitsalloc.ParseLayout("41-10-12")
	fmt.Println(err)
	// Output:
	// true <nil>
	// bitsalloc: invalid layout: "41-10-12", allowed: default, recommended, baidu, snowflake, javascript, or widths and unit such as 28/5/17/13 or 41/0/10/12@1ms
}
