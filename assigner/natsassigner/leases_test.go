package natsassigner_test

import (
	"testing"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/internal/testserver"
)

func TestConformance(t *testing.T) {
	assignertest.RunStore(t, fixture(t, []*testserver.Server{testserver.NATS(t)}))
}

func TestConformanceOfACluster(t *testing.T) {
	assignertest.RunStore(t, fixture(t, testserver.NATSCluster(t, 3)))
}
