package testserver

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// MySQL starts a server of Oracle's MySQL with an empty database named uidring and the user root
// without a password. Arguments are added to the server's command line, such as "--sync-binlog=0".
// The binary log is on, as by default.
func MySQL(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, kind{
		name:     "MySQL",
		programs: []string{"mysqld"},
		apt:      "mysql-server-core of the newest suite, make servers unpacks it",
		prepare:  copyMySQL,
		command: func(s *Server) []string {
			return append(mysqlFlags(s), "--socket="+s.path("s.sock"), "--pid-file="+s.path("pid"),
				"--bind-address=127.0.0.1", "--port="+s.port(), "--mysqlx=OFF", "--secure-file-priv=NULL", "--skip-name-resolve")
		},
		ready: greets,
		url:   "root@tcp(%s)/uidring",
	}, args)
}

// mysqlFlags are small buffers and the folders, for the set-up as for the server.
func mysqlFlags(s *Server) []string {
	flags := []string{"--no-defaults", "--datadir=" + s.path("data"), "--tmpdir=" + s.path("."),
		"--innodb-redo-log-capacity=8M", "--innodb-buffer-pool-size=16M", "--innodb-dedicated-server=OFF", "--table-open-cache=400"}
	return append(flags, placeFlags(s, "share/mysql")...)
}

// mysqlSetup makes root from this host, since a server that resolves no names knows no localhost.
const mysqlSetup = "CREATE DATABASE uidring;\nCREATE USER root@'127.0.0.1';\nGRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n"

// copyMySQL copies the data folder of a server that was never started, except for its server_uuid.
// A server keeps the lower_case_table_names of its set-up.
func copyMySQL(s *Server) error {
	name, flags := "mysql", mysqlFlags(s)
	for _, arg := range s.args {
		if strings.HasPrefix(arg, "--lower-case-table-names=") {
			name, flags = name+arg, append(flags, arg)
		}
	}
	err := copyTemplate(s, name, func() error {
		script := s.path("script")
		return errors.Join(os.WriteFile(script, []byte(mysqlSetup), 0o600),
			s.run(nil, s.program, append(flags, "--initialize-insecure", "--init-file="+script)...))
	})
	return errors.Join(err, os.Remove(s.path("data/auto.cnf")))
}
