package sqlassigner

import (
	"context"
	"slices"

	"github.com/jmoiron/sqlx"
)

// Apply creates the missing tables of package schema, in the dialect of the handle and with the
// names of cfg.TableName. It leaves existing tables unchanged. Any number of processes may call it
// at once. It needs the right to create tables; the assigners need only SELECT, INSERT and UPDATE
// on them.
//
// It returns [ErrTableTwin] and creates no table if a table exists whose name differs only in
// letter case, such as worker_node beside WORKER_NODE: the new table would give out the same worker
// IDs again.
func Apply(ctx context.Context, db *sqlx.DB, cfg Config) error {
	s, err := newStore(db, cfg)
	if err != nil {
		return err
	}
	return s.do(ctx, "create the tables", func(ctx context.Context, conn *sqlx.Conn) error {
		found, err := s.checkTables(ctx, conn, slices.Concat(nodeTables(), leaseTables(), segmentTables()))
		if err != nil {
			return err
		}
		for _, file := range s.dialect.files() {
			for _, statement := range file.Statements() {
				if s.elsewhere(statement, found) {
					continue
				}
				if _, err := conn.ExecContext(ctx, s.tables.inSQL(statement)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// elsewhere reports whether a statement would create a table that PostgreSQL finds in a later
// schema of the search path.
func (s *store) elsewhere(statement string, found []relation) bool {
	names := created(statement)
	return len(names) > 0 && slices.ContainsFunc(found, func(r relation) bool {
		return r.schema != "" && r.used && r.name == s.tables.stored[names[0]]
	})
}
