package sqlassigner

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

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
	err = s.do(ctx, "create the tables", func(ctx context.Context, conn *session) error {
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
	if s.err == nil && s.dialect.diagnose(err).noRight {
		err = fmt.Errorf("%w; or have a user with these rights run "+s.dialect.client, err, strings.Trim(fmt.Sprint(groups), "[]"))
	}
	if err != nil {
		return nil, err
	}
	if len(made) > 0 {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelInfo, "sqlassigner: tables created", slog.Any("tables", made))
		s.warnAfar(ctx)
	}
	return made, nil
}

// creation says how to create the tables of a group.
func (d dialect) creation(group schema.Group) string {
	constant := strings.ToUpper(string(group[:1])) + string(group[1:])
	return fmt.Sprintf("sqlassigner.Apply(…, schema.%s), or with "+d.client, constant, group)
}

// A table is a table of package schema, or of a Java deployment.
type table struct {
	name  string // in package schema; in a result of store.known, in the database
	group schema.Group
	key   string // the columns of its primary key where an INSERT relies on it
	full  string // of store.known: as statements have it
}

// The tables whose primary key keeps two processes apart, and the table of worker IDs that Java
// services share.
var (
	nodeTable    = table{name: "WORKER_NODE", group: schema.Nodes}
	rowTable     = table{name: "WORKER_LEASE", group: schema.Leases, key: "NAMESPACE, WORKER_ID"}
	metaTable    = table{name: "WORKER_LEASE_META", group: schema.Leases, key: "NAMESPACE"}
	segmentTable = table{name: "ID_SEGMENT", group: schema.Segments, key: "NAME"}
)

// tablesOf returns the tables of some groups of package schema.
func tablesOf(groups ...schema.Group) []table {
	all := []table{nodeTable, {name: "WORKER_NODE_TOKEN", group: schema.Nodes}, {name: "WORKER_NODE_PIN", group: schema.Nodes},
		{name: "WORKER_STICKY", group: schema.Nodes}, rowTable, metaTable, segmentTable}
	return slices.DeleteFunc(all, func(t table) bool { return !slices.Contains(groups, t.group) })
}

// inSchema finds the names of package schema in a statement.
var inSchema = regexp.MustCompile(`\b(?:WORKER_NODE(?:_TOKEN|_PIN)?|WORKER_STICKY|WORKER_LEASE(?:_META)?|ID_SEGMENT)\b`)

// A home is the schema of the tables. Statements name it: a temporary table cannot hide a table
// then, and another search_path leads to no other one. The schema in which a table was found first
// stays.
type home struct {
	schema string // "": statements name none
	found  bool   // it has a table, or the database has just one schema
}

// locate asks the database for the first schema of the search path that has a table. Until there is
// a table, the home is the first schema of the path.
func (s *store) locate(ctx context.Context, conn *session) error {
	before := s.home.Load()
	if before.found {
		return nil
	}
	ours := s.names(tablesOf(schema.Groups()...))
	var found []relation
	err := conn.first(ctx, func(ctx context.Context) (err error) { found, err = s.relations(ctx, conn, ours); return err })
	if err != nil {
		return err
	}
	var now home
	for _, r := range found { // in the order of the search path
		switch {
		case now.found, r.Place <= 0:
		case r.Name == "":
			now.schema = cmp.Or(now.schema, r.Schema)
		case slices.Contains(ours, r.Name):
			now = home{r.Schema, true}
		}
	}
	s.home.CompareAndSwap(before, &now) // another call may have found it meanwhile
	return nil
}

// name returns the name of a table of package schema in the database.
func (s *store) name(table string) string {
	if s.cfg.LowerCase || s.dialect.inSchemas { // PostgreSQL has unquoted names in lower case
		return strings.ToLower(table)
	}
	return table
}

func (s *store) names(group []table) (names []string) {
	for _, t := range group {
		names = append(names, s.name(t.name))
	}
	return names
}

func (s *store) quoted(table string) string { return s.quote(s.name(table)) }

// full returns the quoted name of a table, with its schema.
func (s *store) full(table string) string {
	if schema := s.home.Load().schema; schema != "" {
		return s.quote(schema) + "." + s.quoted(table)
	}
	return s.quoted(table)
}

func (s *store) quote(name string) string {
	mark := s.dialect.quote
	return mark + strings.ReplaceAll(name, mark, mark+mark) + mark
}

// known returns a group with the names in the database.
func (s *store) known(group []table) []table {
	group = slices.Clone(group)
	for i, t := range group {
		group[i].name, group[i].full = s.name(t.name), inSchema.ReplaceAllStringFunc(t.name, s.full)
	}
	return group
}

// A relation is a table in the database whose name equals a name of ours, apart from letter case.
// Without a name, it is a schema of the search path.
type relation struct {
	Schema, Name string // as the database has them
	Place        int    // of the schema in the search path, from 1; 0: it is not there; negative: see postgresDialect
	Folded       bool   // the server ignores letter case
}

// text returns the name for error texts.
func (r relation) text() string { return strings.TrimPrefix(r.Schema+"."+r.Name, ".") }

// relations returns the tables with these names, in any letter case, and the schemas of the search
// path, in its order.
func (s *store) relations(ctx context.Context, conn *session, names []string) (found []relation, err error) {
	query, values, err := sqlx.In(s.dialect.relations, strings.Split(strings.ToLower(strings.Join(names, " ")), " "))
	if err != nil {
		return nil, err
	}
	return found, each(ctx, conn, conn.Rebind(query), values, func(rows *sqlx.Rows) error { // by position: a driver may name columns otherwise
		var r relation
		err := rows.Scan(&r.Schema, &r.Name, &r.Place, &r.Folded)
		found = append(found, r)
		return err
	})
}

// checkTables returns an error if two processes might use different tables for one name. Otherwise
// it returns the names of the tables that it has found. It notes tables in other schemas.
func (s *store) checkTables(ctx context.Context, conn *session, group []table) (used []string, err error) {
	ours := s.names(group)
	found, err := s.relations(ctx, conn, ours)
	if err != nil {
		return nil, err
	}
	var twins, afar, barred []string
	home := s.home.Load()
	last := 0 // the place of home
	for _, r := range found {
		if home.found && r.Schema == home.schema {
			last = r.Place
		}
	}
	for _, r := range found {
		if r.Folded {
			r.Name = likeName(ours, r.Name)
		}
		switch {
		case r.Name == "":
		case slices.Contains(ours, r.Name) && r.Schema == home.schema:
			used = append(used, r.Name)
		case r.Place < 0 && (last == 0 || -r.Place <= last):
			barred = append(barred, r.text())
		case r.Place <= 0:
			afar = append(afar, r.text())
		default:
			meant := likeName(ours, r.Name)
			twins = append(twins, r.text()+" beside "+relation{Schema: home.schema, Name: meant}.text())
		}
	}
	if len(barred) > 0 {
		return nil, final("%w: the user may not use %s in a schema of search_path, and would use or create tables in another one: "+
			"GRANT USAGE ON SCHEMA … TO the user, or take the schema out of search_path", ErrAccessDenied, strings.Join(barred, ", "))
	}
	if len(twins) > 0 {
		return nil, final("%w: the database has %s: two processes could count from two tables and give out each number twice; "+
			"choose the one to use, with Config.LowerCase, and drop the other, rename it, or take its schema out of search_path",
			ErrTableTwin, strings.Join(twins, ", "))
	}
	s.afar.Store(&afar)
	return used, nil
}

// warnAfar logs a warning if other schemas have tables of the same names. It is called when tables
// or a namespace have been created: a process with another search path may have done that by
// mistake.
func (s *store) warnAfar(ctx context.Context) {
	if afar := s.afar.Load(); afar != nil && len(*afar) > 0 {
		s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "sqlassigner: other schemas have tables of these names", slog.Any("others", *afar))
	}
}

// likeName returns the name of ours that equals a name apart from letter case.
func likeName(ours []string, name string) string {
	return ours[slices.IndexFunc(ours, func(our string) bool { return strings.EqualFold(our, name) })]
}

// checkTables checks the tables of leases, and WORKER_NODE because of its worker IDs. It limits the
// rate of checks, since a claim that competes for the meta row reads the row many times.
func (l *leases) checkTables(ctx context.Context, conn *session) error {
	const once = 10 * time.Second
	now := time.Now().UnixNano()
	if age := now - l.checked.Load(); age >= 0 && age < int64(once) { // the clock may have been set back
		return nil
	}
	if _, err := l.store.checkTables(ctx, conn, append(tablesOf(schema.Leases), nodeTable)); err != nil {
		return err
	}
	l.checked.Store(now)
	return nil
}
