package sqlassigner_test

import (
	"flag"
	"testing"

	"github.com/uidring/uidring/assigner/sqlassigner/internal/storetest"
	"github.com/uidring/uidring/internal/testserver"
)

var load = flag.Int("load", 0, "fill a namespace with so many rows, and time claims and List in it; 4000000 is full for 22 worker bits")

func TestLoadMariaDB(t *testing.T) {
	if *load == 0 {
		t.Skip("without -load")
	}
	b := mariaDB(testserver.MariaDB(t, "--innodb-buffer-pool-size=512M", "--innodb-log-file-size=256M"))
	t.Run("Claims", func(t *testing.T) { storetest.LoadClaims(t, b, *load) })
	t.Run("List", func(t *testing.T) { storetest.LoadList(t, b, *load/4) })
}
