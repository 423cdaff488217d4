package sqlassigner

import (
	"context"

	"github.com/jmoiron/sqlx"
)

// Apply creates the tables of package schema that are missing, in the dialect of the handle, and
// changes nothing that is there. Any number of processes may call it at once. It needs the right to create
// tables; the assigners need no more than SELECT, INSERT and UPDATE on them.
func Apply(ctx context.Context, db *sqlx.DB) error {
	s, err := newStore(db, Config{})
	if err != nil {
		return err
	}
	return s.do(ctx, "create the tables", func(ctx context.Context, conn *sqlx.Conn) error {
		for _, file := range s.dialect.files() {
			for _, statement := range file.Statements() {
				if _, err := conn.ExecContext(ctx, statement); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
