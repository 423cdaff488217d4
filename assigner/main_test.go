package assigner

import (
	"log/slog"
	"os"
	"testing"
)

// Thousands of simulated starts warn of a new namespace.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}
