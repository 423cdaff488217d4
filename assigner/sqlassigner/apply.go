package sqlassigner

import (
	"context"
	"slices"

	"github.com/jmoiron/sqlx"
)

// Apply creates the missing tables of package schema, in the dialect of the handle and with the
// letter case of cfg. It leaves existing tables unchanged. Any number of processes may call it
// at once. If a table is missing, it needs the right to create tables; the assigners need only
// SELECT, INSERT and UPDATE on them.
//
// It returns [ErrTableTwin] and creates no table if a table exists whose name differs only in
// letter case, such as worker_node beside WORKER_NODE: the new table would give out the same worker
// IDs again.
func Apply(ctx context.Context, db *sqlx.DB, cfg Config) error {
	s := newStore(db, cfg, nil)
	return s.do(ctx, "create the tables", func(ctx context.Context, conn *sqlx.Conn) error {
		found, err := s.checkTables(ctx, conn, allTables())
		if err != nil {
			return err
		}
		name := s.full
		if s.dialect.schema != "" { // SQLite allows no schema after CREATE INDEX … ON
			name = s.quoted
		}
		for _, file := range s.dialect.files() {
			for _, statement := range file.Statements() {
				// A user without the right to create tables may apply statements that have nothing
				// to do. PostgreSQL would also create a table that it finds in a later schema of
				// the search path.
				if slices.Contains(found, s.name(inSchema.FindString(statement))) {
					continue
				}
				if _, err := conn.ExecContext(ctx, inSchema.ReplaceAllStringFunc(statement, name)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
