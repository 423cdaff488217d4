package defaultgen

import "context"

// NewCarried is New with cfg.Now in place of the system's clock, which is carried on between
// readings.
func NewCarried(cfg Config) (*Generator, error) { return newContext(context.Background(), cfg, true) }
