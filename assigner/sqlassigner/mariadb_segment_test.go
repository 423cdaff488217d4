package sqlassigner_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/testkit/idset"
	"github.com/uidring/uidring/internal/testkit/storetest"
	"github.com/uidring/uidring/internal/testkit/testserver"
	"github.com/uidring/uidring/segment"
)

func TestSegmentsOnMariaDB(t *testing.T) {
	t.Parallel()
	storetest.RunSegments(t, mariaDB(testserver.MariaDB(t)))
}

func TestSegmentsOnUndurableMariaDBAreRefused(t *testing.T) {
	s := testserver.MariaDB(t, "--innodb-flush-log-at-trx-commit=2")
	db, _ := mariaDB(s).Applied(t)
	storetest.Exec(t, db, "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id bigint, step int) ENGINE = MyISAM")
	_, err := sqlassigner.LeafSource(db, sqlassigner.Config{}).Advance(t.Context(), "a", 1)
	const flush, engine = "innodb_flush_log_at_trx_commit=2 (allowed: 1)", "table leaf_alloc with ENGINE=MyISAM (allowed: InnoDB)"
	if !errors.Is(err, assigner.ErrStoreNotDurable) || !strings.Contains(err.Error(), flush+", "+engine) {
		t.Errorf("error %v, want ErrStoreNotDurable with %q and %q", err, flush, engine)
	}
	if r, err := sqlassigner.SegmentSource(db, sqlassigner.Config{AllowUndurable: true}).Advance(t.Context(), "a", 1); err != nil || r.First != 1 {
		t.Errorf("with AllowUndurable: range %v, %v", r, err)
	}
}

// A caller uses up ranges as fast as it can: they grow from Step, 1,000, to MaxStep, 1,000,000.
func TestRangesGrowOnMariaDB(t *testing.T) {
	db, _ := mariaDB(testserver.MariaDB(t)).Applied(t)
	g, err := segment.New(segment.Config{Name: "orders", Source: sqlassigner.SegmentSource(db, sqlassigner.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	began := time.Now()
	for range 2_000_000 {
		if _, err := g.NextContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	fetches := g.Stats().Fetches
	t.Logf("%d fetches for 2 million numbers, in %v", fetches, time.Since(began))
	if fetches > 40 {
		t.Error("want about 13, and 40 at most")
	}
}

// Two databases share a counter, and one of them dies.
func TestSegmentsOfTwoMariaDBs(t *testing.T) {
	var servers [2]*testserver.Server
	var sources [2]segment.Source
	for i := range servers {
		servers[i] = testserver.MariaDB(t)
		db, _ := mariaDB(servers[i]).Applied(t)
		sources[i] = sqlassigner.SegmentPart(db, i, 2, sqlassigner.Config{})
	}
	g, err := segment.New(segment.Config{Name: "shared", Source: sources[0], Others: sources[1:], Step: 20, MaxStep: 20})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	var all idset.Set
	issue := func(n int) (by [2]int) {
		for range n {
			id, err := g.NextContext(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all.Once(t, id)
			by[id%2]++
		}
		return by
	}
	for dead := range servers {
		issue(200)
		servers[dead].Kill9()
		if by := issue(500); by[dead] > 40 {
			t.Errorf("%d IDs of server %d, which is dead, want at most the ranges in hand, 40", by[dead], dead)
		}
		servers[dead].Restart()
		for issue(1)[dead] == 0 { // until its range is there
			continue
		}
	}
}
