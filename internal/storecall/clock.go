package storecall

import "time"

// ClockBound is how far the clock of a store may be ahead of the clocks of hosts for Horizon of
// package leasestore: a delta counts as past when it lies so far behind the store's clock.
const ClockBound = time.Minute

// KeepBound is how long callers may keep an ID at most, see Domain.KeptFor of package assigner.
const KeepBound = time.Minute
