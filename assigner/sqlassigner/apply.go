package sqlassigner

import (
	"context"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
)

// Apply creates the missing tables of package schema, in the dialect of the handle and with the
// names of cfg.TableName. It leaves existing tables unchanged. Any number of processes may call it
// at once. If a table is missing, it needs the right to create tables; the assigners need only
// SELECT, INSERT and UPDATE on them.
//
// It returns [ErrTableTwin] and creates no table if a table exists whose name differs only in
// letter case, such as worker_node beside WORKER_NODE: the new table would give out the same worker
// IDs again.
func Apply(ctx context.Context, db *sqlx.DB, cfg Config) error {
	s := newStore(db, cfg, nil)
	return s.do(ctx, "create the tables", func(ctx context.Context, conn *sqlx.Conn) error {
		found, err := s.checkTables(ctx, conn, slices.Concat(nodeTables(), leaseTables(), segmentTables()))
		if err != nil {
			return err
		}
		for _, file := range s.dialect.files() {
			for _, statement := range file.Statements() {
				if s.exists(statement, found) {
					continue
				}
				name := s.tables.full
				if s.dialect.schema != "" { // SQLite allows no schema after CREATE INDEX … ON
					name = s.tables.quoted
				}
				_, err := conn.ExecContext(ctx, s.tables.replace(statement, name))
				if err != nil && !s.hasIndex(ctx, conn, statement) {
					return err
				}
			}
		}
		return nil
	})
}

// exists reports whether the table of a statement exists: a user without the right to create tables
// may apply statements that have nothing to do. PostgreSQL would also create a table that it finds
// in a later schema of the search path.
func (s *store) exists(statement string, found []relation) bool {
	names := created(statement)
	return len(names) > 0 && slices.ContainsFunc(found, func(r relation) bool {
		return r.used && r.name == s.tables.stored[names[0]]
	})
}

// hasIndex reports whether a statement of PostgreSQL creates an index that exists. The server
// demands that the user owns the table before it looks for the index.
func (s *store) hasIndex(ctx context.Context, conn *sqlx.Conn, statement string) (has bool) {
	_, rest, found := strings.Cut(statement, "CREATE INDEX IF NOT EXISTS ")
	if !found || s.dialect.bind != sqlx.DOLLAR {
		return false
	}
	name, _, _ := strings.Cut(rest, " ")
	return conn.GetContext(ctx, &has, "SELECT to_regclass($1) IS NOT NULL", name) == nil && has
}
