package cli

import "time"

// The tests run in a zone that is not UTC, which reveals a time printed without .UTC().
func init() { time.Local = time.FixedZone("Asia/Kolkata", 5*3600+1800) }
