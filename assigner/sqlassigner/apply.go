package sqlassigner

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/schema"
)

// Apply creates the missing tables of some groups of package schema, and returns their names. It
// uses the dialect of the handle and the letter case of cfg. Without a group it creates the tables
// of leases:
//
//	made, err := sqlassigner.Apply(ctx, db, sqlassigner.Config{}, schema.Nodes, schema.Segments)
//
// It leaves existing tables unchanged. Any number of processes may call it at once. If a table is
// missing, it needs the right to create tables; the assigners need only SELECT, INSERT and UPDATE
// on them.
//
// It returns [ErrTableTwin] and creates no table if a table of any group exists whose name differs
// only in letter case, such as worker_node beside WORKER_NODE: the new table would give out the
// same worker IDs again.
func Apply(ctx context.Context, db *sqlx.DB, cfg Config, groups ...schema.Group) (made []string, err error) {
	s := newStore(db, cfg, nil)
	if len(groups) == 0 {
		groups = []schema.Group{schema.Leases}
	}
	err = s.do(ctx, "create the tables", func(ctx context.Context, conn *sqlx.Conn) error {
		found, err := s.checkTables(ctx, conn, tablesOf(schema.Groups()...))
		if err != nil {
			return err
		}
		name := s.full
		if s.dialect.schema != "" { // SQLite allows no schema after CREATE INDEX … ON
			name = s.quoted
		}
		for _, file := range s.dialect.files(groups...) {
			for _, statement := range file.Statements() {
				// A user without the right to create tables may apply statements that have nothing
				// to do. PostgreSQL would also create a table that it finds in a later schema of
				// the search path.
				table := s.name(inSchema.FindString(statement))
				if slices.Contains(found, table) {
					continue
				}
				if _, err := conn.ExecContext(ctx, inSchema.ReplaceAllStringFunc(statement, name)); err != nil {
					return err
				}
				if !slices.Contains(made, table) {
					made = append(made, table)
				}
			}
		}
		return nil
	})
	if s.dialect.diagnose != nil && s.dialect.diagnose(err) == noRight {
		err = fmt.Errorf("%w; or have a user with these rights run "+s.dialect.client, err, strings.Trim(fmt.Sprint(groups), "[]"))
	}
	if err != nil {
		return nil, err
	}
	if len(made) > 0 {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "sqlassigner: tables created", slog.Any("tables", made))
	}
	return made, nil
}

// creation says how to create the tables of a group.
func (d dialect) creation(group schema.Group) string {
	constant := strings.ToUpper(string(group[:1])) + string(group[1:])
	return fmt.Sprintf("sqlassigner.Apply(…, schema.%s), or with "+d.client, constant, group)
}
