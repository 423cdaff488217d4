package dynamoassigner_test

import (
	"testing"

	"github.com/uidring/uidring/assigner/assignertest"
)

func TestConformance(t *testing.T) {
	assignertest.RunStore(t, fixture(serve(t)))
}
