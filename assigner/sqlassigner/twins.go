package sqlassigner

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner"
)

// A table is a table of package schema, or of a Java deployment.
type table struct {
	name string // in package schema; in a result of tables.of, in the database
	key  string // the columns of its primary key where an INSERT relies on it
	full string // of tables.of: the quoted name with the schema
}

// The tables whose primary key keeps two processes apart.
var (
	rowTable     = table{name: "WORKER_LEASE", key: "NAMESPACE, WORKER_ID"}
	metaTable    = table{name: "WORKER_LEASE_META", key: "NAMESPACE"}
	segmentTable = table{name: "ID_SEGMENT", key: "NAME"}
)

// nodeTables returns the tables of Disposable and Sticky, leaseTables the tables of LeaseStore,
// segmentTables the table of SegmentSource.
func nodeTables() []table {
	return []table{{name: "WORKER_NODE"}, {name: "WORKER_NODE_TOKEN"}, {name: "WORKER_NODE_PIN"}, {name: "WORKER_STICKY"}}
}

func leaseTables() []table {
	return []table{rowTable, metaTable}
}

func segmentTables() []table { return []table{segmentTable} }

// A relation is a table in the database whose name equals a name of ours, apart from letter case.
type relation struct {
	name   string // as the database has it
	schema string // in PostgreSQL
	used   bool   // statements with our name use it
	afar   bool   // no session with this search_path finds it
}

// full returns the name for error texts.
func (r relation) full() string {
	if r.schema == "" {
		return r.name
	}
	return r.schema + "." + r.name
}

// checkTables returns an error if two processes might use different tables for one name. Otherwise
// it returns the tables that it has found. It logs a warning once for tables in other schemas.
func (s *store) checkTables(ctx context.Context, conn *sqlx.Conn, group []table) ([]relation, error) {
	if s.dialect.relations == nil {
		return nil, nil
	}
	ours := s.tables.names(group)
	found, err := s.dialect.relations(ctx, conn, ours)
	if err != nil {
		return nil, err
	}
	var twins, afar []string
	for i, r := range found {
		found[i].used = slices.Contains(ours, r.name) && r.schema == s.tables.homes.of(r.name)
		switch {
		case found[i].used:
		case r.afar:
			afar = append(afar, r.full())
		default:
			twins = append(twins, r.full()+" beside "+s.meant(r, ours))
		}
	}
	if len(twins) > 0 {
		return nil, final("%w: the database has %s: two processes could count from two tables and give out each number twice; "+
			"name the one to use with Config.TableName, such as strings.ToLower, and drop the other, rename it, or take its schema "+
			"out of search_path", ErrTableTwin, strings.Join(twins, ", "))
	}
	if len(afar) > 0 {
		s.afar.Do(func() {
			s.cfg.logger().LogAttrs(ctx, slog.LevelWarn, "sqlassigner: other schemas have tables of these names",
				slog.Any("others", afar))
		})
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
	if _, err := l.store.checkTables(ctx, conn, append(leaseTables(), table{name: "WORKER_NODE"})); err != nil {
		return err
	}
	l.checked.Store(now)
	return nil
}

// meant returns the table of ours that a twin could be confused with.
func (s *store) meant(twin relation, ours []string) string {
	name := ours[slices.IndexFunc(ours, func(name string) bool { return strings.EqualFold(name, twin.name) })]
	return relation{name: name, schema: s.tables.homes.of(name)}.full()
}

// mysqlRelations looks for names in other letter case if the server distinguishes them. It skips
// tables that the user may not see; statements that use them fail later.
func mysqlRelations(ctx context.Context, conn *sqlx.Conn, names []string) (found []relation, err error) {
	list, values := marks(names)
	var stored []struct {
		Name  string
		Exact bool
	}
	err = conn.SelectContext(ctx, &stored, "SELECT TABLE_NAME AS name, @@lower_case_table_names = 0 AS exact FROM information_schema.TABLES "+
		"WHERE TABLE_SCHEMA = DATABASE() AND LOWER(TABLE_NAME) IN ("+list+")", values...)
	for _, r := range stored {
		if !r.Exact {
			r.Name = names[slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, r.Name) })]
		}
		found = append(found, relation{name: r.Name})
	}
	return found, err
}

// mysqlPermanent returns an error for a table that is temporary on this connection. The server does
// not list such tables, and a qualified name does not help. No statement may come between this
// check and the write.
func mysqlPermanent(ctx context.Context, conn *sqlx.Conn, group []table) error {
	for _, t := range group {
		row, err := conn.QueryRowxContext(ctx, "SHOW CREATE TABLE "+t.full).SliceScan()
		if sentinel := diagnoseMySQL(err).sentinel; sentinel == ErrTableMissing || sentinel == ErrAccessDenied {
			continue // statements that use it fail later
		}
		if err != nil {
			return err
		}
		if strings.HasPrefix(fmt.Sprintf("%s", row[1]), "CREATE TEMPORARY") {
			return final("%w: table %s is TEMPORARY here, so that no other connection sees its rows: drop it",
				assigner.ErrStoreNotDurable, t.name)
		}
	}
	return nil
}

// postgresRelations looks at all schemas, since a process with another search_path or user may find
// the table in another one.
func postgresRelations(ctx context.Context, conn *sqlx.Conn, names []string) (found []relation, err error) {
	list, values := marks(names)
	rows, err := conn.QueryxContext(ctx, sqlx.Rebind(sqlx.DOLLAR, "SELECT n.nspname, c.relname, n.nspname <> ALL (current_schemas(false)) "+
		"FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') "+
		"AND c.relpersistence <> 't' AND lower(c.relname) IN ("+list+") ORDER BY 1, 2"), values...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r relation
		if err := rows.Scan(&r.schema, &r.name, &r.afar); err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, rows.Err()
}

// postgresHomes returns the schema of the search path in which each table is found, and the schema
// in which a missing table would be created. Schemas of temporary tables do not count.
func postgresHomes(ctx context.Context, conn *sqlx.Conn, names []string) (found map[string]string, absent string, err error) {
	list, values := marks(names)
	rows, err := conn.QueryxContext(ctx, sqlx.Rebind(sqlx.DOLLAR, "SELECT path.name, COALESCE(t.relname, '') "+
		"FROM unnest(current_schemas(false)) WITH ORDINALITY AS path(name, rank) LEFT JOIN "+
		"(SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') "+
		"AND lower(c.relname) IN ("+list+")) AS t ON t.nspname = path.name WHERE left(path.name, 8) <> 'pg_temp_' ORDER BY path.rank"), values...)
	if err != nil {
		return nil, "", err
	}
	defer rows.Close()
	found = make(map[string]string)
	for rows.Next() {
		var schema, name string
		if err := rows.Scan(&schema, &name); err != nil {
			return nil, "", err
		}
		absent = cmp.Or(absent, schema)
		if _, ok := found[name]; !ok && slices.Contains(names, name) {
			found[name] = schema
		}
	}
	return found, absent, rows.Err()
}

// marks returns n placeholders, and the lower-case names as their values.
func marks(names []string) (list string, values []any) {
	for _, name := range names {
		values = append(values, strings.ToLower(name))
	}
	return strings.Repeat(", ?", len(names))[2:], values
}
