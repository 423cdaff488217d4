package keeper

// Remembered returns the number of entries of the registry.
func Remembered() int { return len(registry) }
