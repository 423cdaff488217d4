package schema_test

import (
	"fmt"

	"github.com/uidring/uidring/schema"
)

func ExampleMySQL() {
	for _, f := range schema.MySQL(schema.Leases, schema.Segments) {
		fmt.Println(f.Name, len(f.Statements()))
	}
	// Output:
	// worker_lease.sql 2
	// segment.sql 1
}
