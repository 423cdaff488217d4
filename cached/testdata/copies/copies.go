// Package copies has mistakes for go vet to report.
package copies

import (
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/segment"
)

func lanes(c *cached.Lane, s *segment.Lane) {
	a, b := *c, *s
	_, _ = a.Next()
	_, _ = b.Next()
}
