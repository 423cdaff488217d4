package sqlassigner_test

import (
	"flag"
	"testing"

	"github.com/uidring/uidring/internal/testkit/storetest"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

var starts = flag.Int("starts", 0, "have so many processes start at once in a new namespace; 1000 is the goal")

func TestLoadStartsMariaDB(t *testing.T) {
	if *starts == 0 {
		t.Skip("without -starts")
	}
	storetest.LoadStarts(t, mariaDB(testserver.MariaDB(t, "--max-connections=4000")), *starts)
}

var load = flag.Int("load", 0, "fill a namespace with so many rows, and time claims and List in it; 4000000 is full for 22 worker bits")

func TestLoadMariaDB(t *testing.T) {
	if *load == 0 {
		t.Skip("without -load")
	}
	b := mariaDB(testserver.MariaDB(t, "--innodb-buffer-pool-size=512M", "--innodb-log-file-size=256M"))
	t.Run("Claims", func(t *testing.T) { storetest.LoadClaims(t, b, *load) })
	t.Run("List", func(t *testing.T) { storetest.LoadList(t, b, *load/4) })
}
