package zkassigner_test

import (
	"testing"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/internal/testserver"
)

func TestConformance(t *testing.T) {
	assignertest.RunStore(t, fixture(testserver.ZooKeeper(t)))
}

func TestConformanceOfAnEnsemble(t *testing.T) {
	assignertest.RunStore(t, fixture(testserver.ZooKeeperEnsemble(t, 3)...))
}
