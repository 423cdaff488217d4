package keeper

// Remembered returns the number of entries in the domain of h.
func Remembered(h *Registration) int { return len(h.domain.workers) }
