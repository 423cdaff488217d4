package sqlassigner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
)

// nodeTables returns the tables of Disposable and Sticky, leaseTables the tables of LeaseStore,
// segmentTables the table of SegmentSource.
func nodeTables() []string {
	return []string{"WORKER_NODE", "WORKER_NODE_TOKEN", "WORKER_NODE_PIN", "WORKER_STICKY"}
}

func leaseTables() []string { return []string{"WORKER_LEASE", "WORKER_LEASE_META"} }

func segmentTables() []string { return []string{"ID_SEGMENT"} }

// A relation is a table in the database whose name equals a name of ours, apart from letter case.
type relation struct {
	name      string // as the database has it
	schema    string // in PostgreSQL
	used      bool   // statements with our name use it
	temporary bool   // no other connection sees it
}

// full returns the name for error texts.
func (r relation) full() string {
	if r.schema == "" {
		return r.name
	}
	return r.schema + "." + r.name
}

// checkTables returns an error if two processes might use different tables for one name. Otherwise
// it returns the tables that statements use.
func (s *store) checkTables(ctx context.Context, conn *sqlx.Conn, group []string) ([]relation, error) {
	ours := s.tables.names(group)
	found, err := s.dialect.relations(ctx, conn, ours)
	if err != nil {
		return nil, err
	}
	for _, r := range found {
		if r.used && r.temporary {
			return nil, final("%w: table %s is TEMPORARY here, so that no other connection sees its rows: drop it",
				assigner.ErrStoreNotDurable, r.name)
		}
	}
	var twins []string
	for _, r := range found {
		if !r.used {
			twins = append(twins, r.full()+" beside "+meant(r, ours, found))
		}
	}
	if len(twins) > 0 {
		return nil, final("%w: the database has %s: two processes could count from two tables and give out each number twice; "+
			"name the one to use with Config.TableName, such as strings.ToLower, and drop the other, rename it, or take its schema "+
			"out of search_path", ErrTableTwin, strings.Join(twins, ", "))
	}
	return found, nil
}

// checkTables checks the tables of leases, and WORKER_NODE because of its worker IDs. It limits the
// rate of checks, since a claim that competes for the meta row reads the row many times.
func (l *leases) checkTables(ctx context.Context, conn *sqlx.Conn) error {
	const once = 10 * time.Second
	now := time.Now().UnixNano()
	if age := now - l.checked.Load(); age >= 0 && age < int64(once) { // the clock may have been set back
		return nil
	}
	if _, err := l.store.checkTables(ctx, conn, append(leaseTables(), "WORKER_NODE")); err != nil {
		return err
	}
	l.checked.Store(now)
	return nil
}

// meant returns the table of ours that a twin could be confused with.
func meant(twin relation, ours []string, found []relation) string {
	name := ours[slices.IndexFunc(ours, func(name string) bool { return strings.EqualFold(name, twin.name) })]
	if i := slices.IndexFunc(found, func(r relation) bool { return r.used && r.name == name }); i >= 0 {
		return found[i].full()
	}
	return name
}

// mysqlRelations looks for names in other letter case if the server distinguishes them. MySQL does
// not list temporary tables, so mysqlRelations reads the definition of each table. It skips tables
// that the user may not see; statements that use them fail later.
func mysqlRelations(ctx context.Context, conn *sqlx.Conn, names []string) (found []relation, err error) {
	list, values := marks(names)
	var stored []string
	err = conn.SelectContext(ctx, &stored, "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() "+
		"AND @@lower_case_table_names = 0 AND LOWER(TABLE_NAME) IN ("+list+")", values...)
	if err != nil {
		return nil, err
	}
	for _, name := range stored {
		if !slices.Contains(names, name) {
			found = append(found, relation{name: name})
		}
	}
	for _, name := range names {
		row, err := conn.QueryRowxContext(ctx, "SHOW CREATE TABLE `"+name+"`").SliceScan()
		if sentinel := diagnoseMySQL(err).sentinel; sentinel == ErrTableMissing || sentinel == ErrAccessDenied {
			continue
		}
		if err != nil {
			return nil, err
		}
		temporary := strings.HasPrefix(fmt.Sprintf("%s", row[1]), "CREATE TEMPORARY")
		found = append(found, relation{name: name, used: true, temporary: temporary})
	}
	return found, nil
}

// postgresRelations looks at all schemas of the search path, since a process with another path or
// user may find the table in another schema first.
func postgresRelations(ctx context.Context, conn *sqlx.Conn, names []string) (found []relation, err error) {
	list, values := marks(names)
	rows, err := conn.QueryxContext(ctx, sqlx.Rebind(sqlx.DOLLAR, "SELECT n.nspname, c.relname, c.relpersistence = 't', pg_table_is_visible(c.oid) "+
		"FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') "+
		"AND (n.nspname = ANY (current_schemas(false)) OR n.oid = pg_my_temp_schema()) AND lower(c.relname) IN ("+list+")"), values...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r relation
		if err := rows.Scan(&r.schema, &r.name, &r.temporary, &r.used); err != nil {
			return nil, err
		}
		r.used = r.used && slices.Contains(names, r.name)
		found = append(found, r)
	}
	return found, rows.Err()
}

// sqliteRelations looks for temporary tables, which hide tables of the file. SQLite ignores letter
// case.
func sqliteRelations(ctx context.Context, conn *sqlx.Conn, names []string) (found []relation, err error) {
	list, values := marks(names)
	var stored []string
	err = conn.SelectContext(ctx, &stored, "SELECT name FROM sqlite_temp_master WHERE lower(name) IN ("+list+")", values...)
	for _, name := range stored {
		found = append(found, relation{name: name, used: true, temporary: true})
	}
	return found, err
}

// marks returns n placeholders, and the lower-case names as their values.
func marks(names []string) (list string, values []any) {
	for _, name := range names {
		values = append(values, strings.ToLower(name))
	}
	return strings.Repeat(", ?", len(names))[2:], values
}
