package schema_test

import (
	"fmt"

	"github.com/uidring/uidring/schema"
)

func ExampleMySQL() {
	for _, f := range schema.MySQL() {
		fmt.Println(f.Name, len(f.Statements()))
	}
	// Output:
	// worker_node.sql 3
	// worker_sticky.sql 1
	// worker_lease.sql 2
	// segment.sql 1
}
