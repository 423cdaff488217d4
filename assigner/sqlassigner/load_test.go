package sqlassigner_test

import (
	"flag"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testserver"
)

var starts = flag.Int("starts", 0, "have so many processes start at once in a new namespace; 1000 is the goal")

// Twenty processes share a handle. The slowest start must end within cached.Config.AssignTimeout.
func TestLoadStartsMariaDB(t *testing.T) {
	if *starts == 0 {
		t.Skip("without -starts")
	}
	b := mariaDB(testserver.MariaDB(t, "--max-connections=4000"))
	_, dsn := b.Applied(t)
	handles := make([]*sqlx.DB, *starts/20+1)
	for i := range handles {
		handles[i] = b.Open(t, dsn)
		handles[i].SetMaxIdleConns(20) // as many processes have
	}
	begin := time.Now()
	storetest.TakeAtOnce(t, *starts, 10*time.Second, func(i int) assigner.Assigner { return storetest.Leased(handles[i/20]) })
	t.Logf("%d starts within %v", *starts, time.Since(begin))
}
