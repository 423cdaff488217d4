package sqltest

import (
	"testing"

	"github.com/uidring/uidring/assigner/sqlassigner/internal/storetest"
	"github.com/uidring/uidring/internal/testserver"
)

func TestSegmentsOnPostgreSQL(t *testing.T) {
	storetest.RunSegments(t, postgres(testserver.PostgreSQL(t)))
}

func TestSegmentsOnSQLite(t *testing.T) { storetest.RunSegments(t, sqlite()) }
