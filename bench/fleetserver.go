package main

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/sqlassigner"
)

// A fleetServer is the database server of a fleet.
type fleetServer struct {
	open     func() (*sqlx.DB, error)
	facts    string // a query for the version, the allowed connections, the host, and the file with the process number
	counters string // a query for Variable_name and Value
	pid      int    // if the server runs on this host
}

// The counters of a server. Some servers lack some.
const (
	statements = "Questions"
	lockWaits  = "Innodb_row_lock_waits"
)

func newFleetServer(dsn string) *fleetServer {
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		return &fleetServer{
			open: func() (*sqlx.DB, error) { return sqlx.Open("pgx", dsn) },
			// The server does not know the name of its host. Users without rights see no folder.
			facts: "SELECT 'PostgreSQL ' || current_setting('server_version'), current_setting('max_connections')::int, " +
				"CASE WHEN inet_server_addr() IN ('127.0.0.1', '::1') THEN 'localhost' ELSE '' END, " +
				"COALESCE((SELECT setting || '/postmaster.pid' FROM pg_settings WHERE name = 'data_directory'), '')",
			counters: `SELECT '` + statements + `' AS "Variable_name", SUM(calls)::bigint AS "Value" FROM pg_stat_statements`,
		}
	}
	return &fleetServer{
		open:     func() (*sqlx.DB, error) { return sqlassigner.OpenMySQL(dsn) },
		facts:    "SELECT VERSION(), @@max_connections, @@hostname, @@pid_file",
		counters: "SHOW GLOBAL STATUS WHERE Variable_name IN ('" + statements + "', '" + lockWaits + "')",
	}
}

// learn returns the version of the server and its most connections.
func (s *fleetServer) learn(ctx context.Context, db *sqlx.DB) (version string, allowed int, err error) {
	var host, file string
	if err = db.QueryRowContext(ctx, s.facts).Scan(&version, &allowed, &host, &file); err != nil {
		return "", 0, err
	}
	if here, err := os.Hostname(); host == "localhost" || err == nil && here == host {
		text, _ := os.ReadFile(file)
		first, _, _ := strings.Cut(string(text), "\n")
		s.pid, _ = strconv.Atoi(strings.TrimSpace(first))
	}
	return version, allowed, nil
}

// count returns the counters. PostgreSQL has none without its extension pg_stat_statements.
func (s *fleetServer) count(ctx context.Context, db *sqlx.DB) (map[string]int64, error) {
	var rows []struct {
		Name  string        `db:"Variable_name"`
		Value sql.NullInt64 `db:"Value"`
	}
	err := db.SelectContext(ctx, &rows, s.counters)
	if err != nil && strings.Contains(s.counters, "pg_stat_statements") {
		return nil, nil
	}
	counters := make(map[string]int64)
	for _, row := range rows {
		counters[row.Name] = row.Value.Int64
	}
	return counters, err
}

// cpu returns the CPU time of the server's processes on Linux, or 0. PostgreSQL has a process for
// each connection, of a single thread, whose time is known in nanoseconds: hundredths of a second
// of a thousand processes would lose seconds.
func (s *fleetServer) cpu() (total time.Duration) {
	if s.pid == 0 {
		return 0
	}
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range all {
		text, _ := os.ReadFile(file)
		_, rest, _ := strings.Cut(string(text), ") ") // after the name of the program
		fields := strings.Fields(rest)
		if len(fields) < 15 {
			continue
		}
		switch strconv.Itoa(s.pid) {
		case filepath.Base(filepath.Dir(file)):
			for _, field := range fields[11:15] { // with the times of processes that have ended
				ticks, _ := strconv.ParseInt(field, 10, 64)
				total += time.Duration(ticks) * 10 * time.Millisecond // Linux counts 100 a second for programs
			}
		case fields[1]: // the parent
			text, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "schedstat"))
			first, _, _ := strings.Cut(string(text), " ")
			running, _ := strconv.ParseInt(first, 10, 64)
			total += time.Duration(running)
		}
	}
	return total
}
