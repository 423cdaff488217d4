package sqlassigner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/storetest"
	"github.com/uidring/uidring/internal/test/testserver"
)

// javaTable is the original's table as a Java deployment may have created it.
const javaTable = "CREATE TABLE worker_node (ID bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, HOST_NAME varchar(64) NOT NULL, " +
	"PORT varchar(64) NOT NULL, TYPE int NOT NULL, LAUNCH_DATE date NOT NULL, MODIFIED timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP, " +
	"CREATED timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP)"

func TestTableOfAnotherCaseOnMariaDBIsRefused(t *testing.T) {
	storetest.Twins(t, mariaDB(testserver.MariaDB(t)), map[string]string{
		"worker_node beside WORKER_NODE:":             javaTable,
		"Worker_Node_Pin beside WORKER_NODE_PIN:":     "CREATE TABLE Worker_Node_Pin (ID int)",
		"worker_lease_meta beside WORKER_LEASE_META:": "CREATE TABLE worker_lease_meta (ID int)",
	})
}

// A Java deployment with another name goes on with it, and its numbers do.
func TestMariaDBGoesOnWithTheTableOfAJavaDeployment(t *testing.T) {
	db, _ := mariaDB(testserver.MariaDB(t)).Empty(t)
	storetest.Exec(t, db, javaTable, "INSERT INTO worker_node (ID, HOST_NAME, PORT, TYPE, LAUNCH_DATE) VALUES (41, '10.0.0.1', '1-2', 2, '2026-01-01')")
	cfg := sqlassigner.Config{LowerCase: true}
	if _, err := storetest.TryApply(t, db, cfg); err != nil {
		t.Fatal(err)
	}
	if w := storetest.Assign(t, sqlassigner.Disposable(db, cfg)).Grant().WorkerID; w != 42 {
		t.Errorf("worker %d after row 41, want 42", w)
	}
	storetest.Assign(t, sqlassigner.Sticky(db, "orders", cfg))
	storetest.Assign(t, assigner.Leased(sqlassigner.LeaseStore(db, "orders", cfg), assigner.LeaseConfig{FirstWorkerID: 1000}))
	storetest.Refused(t, storetest.Disposable(db), sqlassigner.ErrTableTwin, "worker_node beside WORKER_NODE")
	storetest.Exec(t, db, "ALTER TABLE worker_lease ENGINE = MyISAM")
	storetest.Refused(t, assigner.Leased(sqlassigner.LeaseStore(db, "orders", cfg), assigner.LeaseConfig{FirstWorkerID: 1000}),
		leasestore.ErrNotDurable, "table worker_lease with ENGINE=MyISAM")
}

// Where the server takes no notice of letter case, WORKER_NODE and worker_node are one table.
func TestMariaDBWithoutLetterCaseHasNoTwins(t *testing.T) {
	db, _ := mariaDB(testserver.MariaDB(t, "--lower-case-table-names=1")).Empty(t)
	storetest.Exec(t, db, javaTable)
	storetest.Apply(t, db)
	for _, a := range []assigner.Assigner{storetest.Disposable(db), storetest.Sticky(db), storetest.Beside(db)} {
		storetest.Assign(t, a)
	}
	storetest.Exec(t, db, "ALTER TABLE worker_node ENGINE = MyISAM")
	storetest.Refused(t, storetest.Disposable(db), leasestore.ErrNotDurable)
}

func TestEngineOfMariaDBWithoutDurableCommitsIsRefused(t *testing.T) {
	storetest.Unsafe(t, mariaDB(testserver.MariaDB(t)), func(t *testing.T, db *sqlx.DB, table string) {
		storetest.Exec(t, db, "ALTER TABLE "+table+" ENGINE = Aria")
	}, func(table string) string { return "table " + table + " with ENGINE=Aria (allowed: InnoDB)" })
}

// With a key of fewer columns, or of others, two processes could create one row twice.
func TestPrimaryKeyOfOtherColumnsOnMariaDBIsRefused(t *testing.T) {
	b := mariaDB(testserver.MariaDB(t))
	for _, tt := range []struct{ table, key, want string }{
		{"WORKER_LEASE", "NAMESPACE, WORKER_ID, VERSION", "NAMESPACE, WORKER_ID"},
		{"WORKER_LEASE", "NAMESPACE(3), WORKER_ID", "NAMESPACE, WORKER_ID"},
		{"WORKER_LEASE", "TOKEN", "NAMESPACE, WORKER_ID"},
		{"WORKER_LEASE_META", "NAMESPACE_UUID", "NAMESPACE"},
		{"ID_SEGMENT", "NAME, DELTA", "NAME"},
		{"ID_SEGMENT", "", "NAME"},
	} {
		t.Run(tt.table+" "+tt.key, func(t *testing.T) {
			db, _ := b.Applied(t)
			storetest.Exec(t, db, "ALTER TABLE "+tt.table+" DROP PRIMARY KEY")
			if tt.key != "" {
				storetest.Exec(t, db, "ALTER TABLE "+tt.table+" ADD PRIMARY KEY ("+tt.key+")")
			}
			_, err := sqlassigner.SegmentSource(db, sqlassigner.Config{AllowUndurable: true}).Advance(t.Context(), "orders", 1)
			if tt.table != "ID_SEGMENT" {
				_, err = storetest.TryAssign(t, assigner.Leased(storetest.LeaseStore(db), assigner.LeaseConfig{AllowUndurable: true}), time.Minute)
			}
			want := fmt.Sprintf("table %s lacks its primary key (%s), and has (%s)", tt.table, tt.want, tt.key)
			storetest.WantError(t, err, leasestore.ErrNotDurable, want)
		})
	}
}

func TestSegmentsOnMariaDB(t *testing.T) {
	t.Parallel()
	storetest.RunSegments(t, mariaDB(testserver.MariaDB(t)))
}

func TestSegmentsOnUndurableMariaDBAreRefused(t *testing.T) {
	db, _ := mariaDB(testserver.MariaDB(t, "--innodb-flush-log-at-trx-commit=2")).Applied(t)
	storetest.Exec(t, db, "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id bigint, step int) ENGINE = MyISAM")
	_, err := sqlassigner.LeafSource(db, sqlassigner.Config{}).Advance(t.Context(), "a", 1)
	storetest.WantError(t, err, leasestore.ErrNotDurable,
		"innodb_flush_log_at_trx_commit=2 (allowed: 1), table leaf_alloc with ENGINE=MyISAM (allowed: InnoDB)")
	if r, err := sqlassigner.SegmentSource(db, sqlassigner.Config{AllowUndurable: true}).Advance(t.Context(), "a", 1); err != nil || r.First != 1 {
		t.Errorf("with AllowUndurable: range %v, %v", r, err)
	}
}
