package keeper

// Remembered returns the number of entries of the registry.
func Remembered() int { return len(registry) }

// ForgetEnded makes room for the entries of the rest of a test.
func ForgetEnded() { forgetEnded() }
