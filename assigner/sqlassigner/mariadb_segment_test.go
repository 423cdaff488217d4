package sqlassigner_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testserver"
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
