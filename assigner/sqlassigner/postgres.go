package sqlassigner

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/schema"
)

func postgresDialect(logger *slog.Logger) dialect {
	return dialect{
		name:      "PostgreSQL",
		client:    "uidring schema postgres %s | psql your_database",
		files:     schema.PostgreSQL,
		quote:     `"`,
		inSchemas: true,
		// A process with another search_path or user may find the table in any schema. Schemas of
		// temporary tables do not count. The server skips a schema of the path that the user may
		// not use: its place is the place of the next schema, but negative.
		relations: "WITH path AS (SELECT name, place FROM unnest(current_schemas(false)) WITH ORDINALITY AS p(name, place) " +
			"WHERE left(name, 8) <> 'pg_temp_'), setting AS (SELECT MIN(place) AS place, CASE WHEN name IN ('$user', '\"$user\"') THEN CAST(current_user AS text) " +
			"WHEN left(name, 1) = '\"' THEN btrim(name, '\"') ELSE lower(name) END AS name FROM (SELECT btrim(name) AS name, place " +
			"FROM unnest(string_to_array(current_setting('search_path'), ',')) WITH ORDINALITY AS s(name, place)) AS s GROUP BY 2), " +
			"barred AS (SELECT name, -1 - (SELECT COUNT(DISTINCT name) FROM path JOIN setting AS b USING (name) WHERE b.place < setting.place) AS place " +
			"FROM setting WHERE name NOT IN (SELECT name FROM path)) SELECT name, '', place, FALSE FROM path UNION ALL " +
			"SELECT n.nspname, c.relname, COALESCE(path.place, barred.place, 0), FALSE FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace " +
			"LEFT JOIN path ON path.name = n.nspname LEFT JOIN barred ON barred.name = n.nspname " +
			"WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relpersistence <> 't' " +
			"AND lower(c.relname) IN (?) ORDER BY 3, 1, 2",
		onConflict: true,
		returning:  true,
		times: strings.NewReplacer("{key}", "", "{unlocked}", " FOR UPDATE SKIP LOCKED", "{folded}", `LOWER(RTRIM(NAMESPACE) COLLATE "C")`, "{now}", "CURRENT_TIMESTAMP",
			"{today}", "(CURRENT_TIMESTAMP AT TIME ZONE 'UTC')::date", "{utc}", "CURRENT_TIMESTAMP",
			"{later}", "CURRENT_TIMESTAMP + CAST(? AS bigint) * INTERVAL '1 microsecond'",
			"{expires}", "CAST(EXTRACT(EPOCH FROM EXPIRES_AT) * 1000000 AS bigint)"),
		diagnose: diagnosePostgres,
		look:     (&postgresServer{logger: logger}).look,
		idle:     postgresIdle,
	}
}

// postgresIdle compares the transaction start times of two statements, of which the first may have
// been a look. Inside a transaction they are equal; outside they differ by a round trip. The
// statement time is of no use: with the extended protocol it is always later than the start of the
// transaction. A standby may lag, also for reads.
func postgresIdle(ctx context.Context, conn *session, _ []table) error {
	before := conn.began
	for first := before == ""; ; first = false {
		var now string
		var recovery bool
		err := conn.QueryRowxContext(ctx, "SELECT "+postgresBegan+", pg_is_in_recovery()").Scan(&now, &recovery)
		switch {
		case err != nil:
			return postgresFailed(err)
		case recovery:
			return fmt.Errorf("%w (it is in recovery)", errReadOnly)
		case now == before:
			return openTransaction()
		case !first:
			return nil
		}
		before = now
	}
}

const postgresBegan = "CAST(transaction_timestamp() AS text)"

// postgresFailed replaces the error for a statement inside a transaction that has failed.
func postgresFailed(err error) error {
	if sqlState(err) == "25P02" {
		return openTransaction()
	}
	return err
}

// errReadOnlySession: a setting makes a primary read-only. Statements that write run on primaries.
var (
	errReadOnlySession = fmt.Errorf("%w (transaction_read_only is on, outside recovery)", errReadOnly)
	readOnlySession    = diagnosis{sentinel: leasestore.ErrNotDurable, passes: true, undone: true,
		advice: "set default_transaction_read_only=off for the server, the database, the role or the URL, whichever has it on"}
)

var postgresErrors = map[string]diagnosis{
	"40001": collision, "40P01": collision, "55P03": collision, // serialization, deadlock, lock not available
	"42P07": collision, "42710": collision, // CREATE … IF NOT EXISTS of several processes at once: table, type exists
	"25006": readOnlySession,
	"53000": full, "53100": full, "53200": full, "58030": full, // open files, disk, memory, input or output
	"53300": noConnection, "57014": timedOut, "25P04": timedOut, // by statement_timeout or another session, by transaction_timeout
	"28000": noLogin, "28P01": noLogin, "42501": noRightOfSchema, // user, password, table or schema
	"3D000": noDatabase, "42P01": noTable, "42703": altered,
	"42P05": pooled, "26000": pooled, // a prepared statement exists already, or does not exist
	"23505": duplicate, "42P10": keyMissing, // ON CONFLICT names no key
}

// sqlState returns the SQLSTATE of an error, which the drivers pgx and pq both provide, or "".
func sqlState(err error) string {
	e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if !ok {
		return ""
	}
	return e.SQLState()
}

// errFile: SQLSTATE 42501 is also of a file that the operating system refuses to the server.
var errFile = errors.New("the server cannot open a file of its own")

func diagnosePostgres(err error) diagnosis {
	state := sqlState(err)
	if strings.HasPrefix(state, "08") || strings.HasPrefix(state, "57P0") { // connection, shutdown
		return unreachable
	}
	if errors.Is(err, errFile) {
		return full
	}
	if state != "" {
		return postgresErrors[state]
	}
	if errors.Is(err, errReadOnlySession) {
		return readOnlySession
	}
	d, known := diagnoseAny(err)
	// target_session_attrs lets pgx reject the connection itself.
	if text := fmt.Sprint(err); !known && (strings.Contains(text, "read only connection") || strings.Contains(text, "server is in standby mode")) {
		return readOnly
	}
	return d
}

// A postgresServer holds facts about the server of a store: the user may not call the functions of
// its identity or of its address, or the server lacks them. Any number of goroutines may use it at
// once.
type postgresServer struct {
	anonymous, hidden atomic.Bool // without an identity, without an address
	told              sync.Once   // the log has it
	logger            *slog.Logger
}

// postgresIdentity selects the system identifier, which initdb has set, and the timeline, which
// changes with a point-in-time recovery and the promotion of a replica. It reads the timeline from
// the name of the present WAL file, since the control file is updated later.
const postgresIdentity = "(SELECT system_identifier || ' timeline ' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system())"

// postgresAllows selects whether the user may call some functions.
const postgresAllows = "(SELECT bool_and(COALESCE(has_function_privilege(to_regprocedure(f), 'EXECUTE'), FALSE)) FROM unnest(ARRAY[%s]) AS f)"

var (
	postgresAllowsIdentity = fmt.Sprintf(postgresAllows, "'pg_control_system()', 'pg_walfile_name(pg_lsn)', 'pg_current_wal_lsn()'")
	postgresAllowsAddress  = fmt.Sprintf(postgresAllows, "'inet_server_addr()', 'inet_server_port()'")
)

// postgresName selects the database, and postgresAddress the server's address, or nothing for a
// connection through a local socket.
const (
	postgresName    = "' database ' || current_database()"
	postgresAddress = " || COALESCE(' at ' || host(inet_server_addr()) || ' port ' || inet_server_port(), '')"
)

// postgresClock selects microseconds since 1970.
const postgresClock = "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS bigint)"

// look asks all in one SELECT. The identity is "" if the user may not call its functions. Each look
// then asks whether that has changed: a right may be granted, and another role may have lacked it.
func (p *postgresServer) look(ctx context.Context, conn *session, group []table, status *leasestore.Status) (err error) {
	anonymous, identity, name := p.anonymous.Load(), postgresIdentity, postgresName+postgresAddress
	if anonymous {
		identity = "CASE WHEN " + postgresAllowsIdentity + " THEN 'visible' ELSE '' END"
	}
	if p.hidden.Load() {
		name = postgresName
	}
	var commit, fsync, readOnly string
	var clock int64
	var recovery bool
	columns := []string{postgresBegan, "current_setting('synchronous_commit')", "current_setting('fsync')", "current_setting('transaction_read_only')",
		"CASE WHEN pg_is_in_recovery() THEN '' ELSE " + identity + " END", postgresClock, "pg_is_in_recovery()", name}
	fields := []any{&conn.began, &commit, &fsync, &readOnly, &status.Identity, &clock, &recovery, &status.Store}
	var values []any
	kinds := make([]sql.NullString, len(group))
	for i, t := range group {
		columns = append(columns, `(SELECT CAST(relkind AS text) || CAST(relpersistence AS text) FROM pg_class WHERE oid = to_regclass(?))`)
		fields, values = append(fields, &kinds[i]), append(values, t.full)
	}
	err = conn.QueryRowxContext(ctx, conn.Rebind("SELECT "+strings.Join(columns, ", ")), values...).Scan(fields...)
	changed := anonymous && err == nil && status.Identity != ""
	if state := sqlState(err); state == "42501" || state == "42883" { // no right, no such function
		if allowed, errAsk := postgresAllowed(ctx, conn, postgresAllowsAddress); errAsk == nil && !allowed && name != postgresName {
			p.hidden.Store(true)
			return p.look(ctx, conn, group, status)
		}
		if !anonymous {
			changed, err = p.denied(ctx, conn, group, err)
		}
	}
	switch {
	case changed:
		p.anonymous.Store(!anonymous)
		conn.began = ""
		return p.look(ctx, conn, group, status)
	case err != nil:
		return postgresFailed(err)
	case readOnly != "off" && recovery:
		return fmt.Errorf("%w (it is in recovery)", errReadOnly)
	case readOnly != "off":
		return errReadOnlySession
	}
	if commit == "off" {
		status.Faults = append(status.Faults, "synchronous_commit=off (allowed: all others)")
	}
	if fsync != "on" {
		status.Faults = append(status.Faults, "fsync="+fsync+" (allowed: on)")
	}
	for i, t := range group {
		if kind := kinds[i]; kind.Valid && kind.String != "rp" { // an ordinary, permanent table
			status.Faults = append(status.Faults, fmt.Sprintf("table %s, which is %s (allowed: an ordinary permanent table)", t.name, postgresKind(kind.String)))
		}
	}
	status.Now = time.UnixMicro(clock).UTC()
	return nil
}

// denied judges the error of a look that asked for the identity, and reports whether the user may
// not call its functions. The server has the same error for a schema that the user may not use, and
// for a file of its own that it cannot read for a moment.
func (p *postgresServer) denied(ctx context.Context, conn *session, group []table, err error) (anonymous bool, _ error) {
	var oid sql.NullString
	switch allowed, errAsk := postgresAllowed(ctx, conn, postgresAllowsIdentity); {
	case errAsk != nil:
	case !allowed:
		if sqlState(err) == "42501" {
			p.told.Do(func() {
				p.logger.LogAttrs(ctx, slog.LevelWarn, "sqlassigner: cannot see when the server is replaced, as by a failover that loses commits",
					slog.String("remedy", "GRANT EXECUTE ON FUNCTION pg_control_system() TO the user; new claims then wait once, as after a failover"), slog.Any("error", err))
			})
		}
		return true, err
	case len(group) == 0 || sqlState(conn.QueryRowxContext(ctx, conn.Rebind("SELECT to_regclass(?)"), group[0].full).Scan(&oid)) != "42501":
		return false, fmt.Errorf("%w: %w", errFile, err)
	}
	return false, err
}

// postgresAllowed asks whether the user may call some functions.
func postgresAllowed(ctx context.Context, conn *session, allows string) (allowed bool, err error) {
	err = conn.QueryRowxContext(ctx, "SELECT "+allows).Scan(&allowed)
	return allowed, err
}

// postgresKind describes a relkind and relpersistence. A view and a partitioned table have the
// persistence of other tables.
func postgresKind(kind string) string {
	if kind == "ru" {
		return "UNLOGGED"
	}
	names := map[byte]string{'v': "a view", 'm': "a materialized view", 'p': "partitioned", 'f': "a foreign table"}
	return cmp.Or(names[kind[0]], "of the kind "+kind)
}
