package sqlassigner_test

import (
	"flag"
	"testing"

	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testserver"
)

var starts = flag.Int("starts", 0, "have so many processes start at once in a new namespace; 1000 is the goal")

func TestLoadStartsMariaDB(t *testing.T) {
	if *starts == 0 {
		t.Skip("without -starts")
	}
	storetest.LoadStarts(t, mariaDB(testserver.MariaDB(t, "--max-connections=4000")), *starts)
}
