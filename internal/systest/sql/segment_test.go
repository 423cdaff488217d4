package sql_test

import (
	"testing"

	"github.com/uidring/uidring/internal/testkit/storetest"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

func TestSegmentsOnPostgreSQL(t *testing.T) {
	storetest.RunSegments(t, postgres(testserver.PostgreSQL(t)))
}

func TestSegmentsOnSQLite(t *testing.T) { storetest.RunSegments(t, sqlite()) }
