package daemon

import "math"

// openFiles returns the largest number of open files of the process.
func openFiles() int { return math.MaxInt32 }
