//go:build !unix

package load

import "time"

// CPUTime returns 0: unknown.
func CPUTime() time.Duration { return 0 }
