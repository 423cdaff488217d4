package incidents_test

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	runChild()
	os.Exit(m.Run())
}
