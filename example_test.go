package uidring_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/defaultgen"
)

// A generator with a worker ID from configuration. Services that share a database lease worker IDs
// instead: see assigner.Leased.
func Example() {
	g, err := defaultgen.New(defaultgen.Config{Layout: bitsalloc.Snowflake(), Assigner: assigner.Static(7)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
	id, err := g.Next()
	if err != nil {
		fmt.Println(err)
		return
	}
	fields, err := g.Parse(id)
	fmt.Println("worker", fields.WorkerID, err)
	// Output: worker 7 <nil>
}

func ExampleID() {
	id := uidring.ID(176636547297255431) // as a generator returned it
	fmt.Println(id)
	fmt.Println(id.Base32())
	fmt.Println(id.Base62())
	text, err := json.Marshal(map[string]uidring.ID{"id": id})
	fmt.Println(string(text), err)
	// Output:
	// 176636547297255431
	// 04WWA04002807
	// 0D2zpT7hYBT
	// {"id":"176636547297255431"} <nil>
}

// Keys that sort by time, in a store that compares bytes.
func ExampleID_AppendBase32() {
	var keys []string
	for _, id := range []uidring.ID{176636547297255431, 9, 34359746561} {
		keys = append(keys, string(id.AppendBase32([]byte("order/"))))
	}
	slices.Sort(keys)
	fmt.Println(keys)
	// Output: [order/0000000000009 order/0000010000801 order/04WWA04002807]
}

// A text that a person typed or wrote down.
func ExampleParseBase32() {
	fmt.Println(uidring.ParseBase32("o4wwaO4oo28o7"))
	_, err := uidring.ParseBase32("04WWA0400280")
	fmt.Println(err)
	// Output:
	// 176636547297255431 <nil>
	// uidring: malformed ID: base32 "04WWA0400280": 12 bytes long, allowed: 13 characters of 0-9 and A-Z but U
}

func ExampleInvalidError() {
	_, err := uidring.ParseBase62("zzzzzzzzzzz")
	if invalid, ok := errors.AsType[*uidring.InvalidError](err); ok {
		fmt.Println(invalid.Given, "is", invalid.Fault)
		fmt.Println("allowed:", invalid.Allowed)
	}
	fmt.Println("out of range:", errors.Is(err, uidring.ErrRange))
	// Output:
	// zzzzzzzzzzz is above the largest ID
	// allowed: 00000000000 to AzL8n0Y58m7
	// out of range: true
}

// For a column that may be NULL; rows.Scan calls Scan.
func ExampleID_Scan_null() {
	var id uidring.ID
	fmt.Println(errors.Is(id.Scan(nil), uidring.ErrNull))

	var parent sql.Null[uidring.ID]
	err := parent.Scan(nil)
	fmt.Println(parent.Valid, err)
	err = parent.Scan(int64(176636547297255431))
	fmt.Println(parent.Valid, parent.V, err)
	// Output:
	// true
	// false <nil>
	// true 176636547297255431 <nil>
}
