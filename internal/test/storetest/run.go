package storetest

import (
	"fmt"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
)

// Run runs the suite for Disposable and Sticky.
func Run(t *testing.T, b Database) {
	b.conforms(t, "DisposableConforms", assigner.GuaranteeFresh, "WORKER_NODE WHERE ID",
		func(db *sqlx.DB, _ string) assigner.Assigner { return Disposable(db) })
	b.conforms(t, "StickyConforms", assigner.GuaranteeSticky, "WORKER_STICKY WHERE WORKER_ID",
		func(db *sqlx.DB, key string) assigner.Assigner {
			return sqlassigner.Sticky(db, key, sqlassigner.Config{})
		})
}

func (b Database) conforms(t *testing.T, name string, g assigner.Guarantee, rows string,
	open func(db *sqlx.DB, key string) assigner.Assigner) {
	t.Run(name, func(t *testing.T) {
		assignertest.Run(t, func(t *testing.T) assignertest.AssignerFixture {
			db, _ := b.Applied(t)
			return assignertest.AssignerFixture{
				Assigner:  func(key string) assigner.Assigner { return open(db, key) },
				Guarantee: g, Reusable: g == assigner.GuaranteeSticky, Pinned: true,
				Delete: func(t *testing.T, workerID int64) { Exec(t, db, fmt.Sprintf("DELETE FROM %s = %d", rows, workerID)) },
			}
		})
	})
}
