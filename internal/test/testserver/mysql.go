package testserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
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

// MySQLGroup starts n MySQL servers as a group of Group Replication, with a single primary unless
// the arguments say otherwise. They are as with MySQL. A member may join after MySQLGroup has
// returned, and joins again after a Restart. The primary is the first member.
func MySQLGroup(t testing.TB, n int, args ...string) []*Server {
	t.Helper()
	var peers []string
	for range n {
		peers = append(peers, FreeAddr(t))
	}
	var members []*Server
	for i, peer := range peers {
		joins := filepath.Join(t.TempDir(), "joins")
		if err := os.WriteFile(joins, []byte("CHANGE REPLICATION SOURCE TO SOURCE_USER='root' FOR CHANNEL 'group_replication_recovery';\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		flags := append([]string{"--plugin-load-add=group_replication.so", "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
			fmt.Sprint("--server-id=", i+1), "--report-host=127.0.0.1", "--init-file=" + joins,
			"--group-replication-group-name=" + groupName(peers), "--group-replication-start-on-boot=ON",
			"--group-replication-local-address=" + peer, "--group-replication-group-seeds=" + strings.Join(peers, ","),
			"--group-replication-recovery-get-public-key=ON", "--group-replication-member-expel-timeout=0"}, args...)
		all := flags
		if i == 0 {
			all = append(slices.Clone(flags), bootstrap)
		}
		s := MySQL(t, all...)
		s.args = flags // a second bootstrap would make another group
		members = append(members, s)
	}
	return members
}

const bootstrap = "--group-replication-bootstrap-group=ON"

// Bootstrap starts a server of a [MySQLGroup] again, as the first member of a new group with the
// same name.
func (s *Server) Bootstrap() {
	s.t.Helper()
	flags := s.args
	s.Restart(append(slices.Clone(flags), bootstrap)...)
	s.args = flags
}

// groupName returns a UUID that ends with the port of the first member.
func groupName(peers []string) string {
	_, port, _ := net.SplitHostPort(peers[0])
	return fmt.Sprintf("a0a0a0a0-0000-4000-8000-%012s", port)
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
