package testserver

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
)

// MySQL starts a server of Oracle's MySQL with an empty database named uidring and the user root
// without a password. Arguments are added to the server's command line, such as "--sync-binlog=0".
// The binary log is on, as by default.
func MySQL(t testing.TB, args ...string) *Server {
	t.Helper()
	return startMySQL(t, mysqlFlags, args, kind{
		name:     "MySQL",
		programs: []string{"mysqld"},
		apt:      "mysql-server-core of the newest suite, make servers unpacks it",
		prepare:  copyMySQL,
	})
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
	_, port, _ := net.SplitHostPort(peers[0])
	var members []*Server
	for i, peer := range peers {
		joins := filepath.Join(t.TempDir(), "joins")
		testkit.Must(t, os.WriteFile(joins, []byte("CHANGE REPLICATION SOURCE TO SOURCE_USER='root' FOR CHANNEL 'group_replication_recovery';\n"), 0o644))
		flags := append([]string{"--plugin-load-add=group_replication.so", "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
			fmt.Sprint("--server-id=", i+1), "--report-host=127.0.0.1", "--init-file=" + joins,
			"--group-replication-group-name=a0a0a0a0-0000-4000-8000-" + fmt.Sprintf("%012s", port), "--group-replication-start-on-boot=ON",
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

// mysqlFlags are for the set-up as for the server. The performance schema stays, since a server
// tells there how it replicates, but keeps no statistics: their memory and a large buffer of the
// log would take a third of the time of a start.
func mysqlFlags(s *Server) []string {
	return dataFlags(s, "share/mysql", "--innodb-redo-log-capacity=8M", "--innodb-log-buffer-size=1M", "--innodb-dedicated-server=OFF",
		"--table-open-cache=400", "--mysqlx=OFF", "--secure-file-priv=NULL", "--performance-schema-digests-size=0", "--performance-schema-error-size=0",
		"--performance-schema-max-memory-classes=0", "--performance-schema-max-statement-classes=0")
}

// mysqlSetup makes root from this host, since a server that resolves no names knows no localhost.
const mysqlSetup = "CREATE DATABASE uidring;\nCREATE USER root@'127.0.0.1';\nGRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n"

// copyMySQL copies the data folder of a server that was never started, except for its server_uuid.
// A server keeps the lower_case_table_names of its set-up.
func copyMySQL(s *Server) {
	name, flags := "mysql", mysqlFlags(s)
	for _, arg := range s.args {
		if strings.HasPrefix(arg, "--lower-case-table-names=") {
			name, flags = name+arg, append(flags, arg)
		}
	}
	copyTemplate(s, name, func() {
		script := s.path("script")
		testkit.Must(s.t, os.WriteFile(script, []byte(mysqlSetup), 0o600))
		s.run(nil, s.program, append(flags, "--initialize-insecure", "--init-file="+script)...)
	})
	testkit.Must(s.t, os.Remove(s.path("data/auto.cnf")))
}

// MariaDB starts a MariaDB server with an empty database named uidring and the user root without a
// password. Arguments are added to the server's command line, such as "--sync-binlog=0".
func MariaDB(t testing.TB, args ...string) *Server {
	t.Helper()
	return startMySQL(t, mariaDBFlags, args, kind{
		name:     "MariaDB",
		programs: []string{"mariadbd"},
		apt:      "mariadb-server-core",
		prepare:  func(s *Server) { copyTemplate(s, "mariadb", func() { bootstrapMariaDB(s) }) },
	})
}

// startMySQL starts a server of the MySQL family with flags and arguments.
func startMySQL(t testing.TB, flags func(*Server) []string, args []string, k kind) *Server {
	t.Helper()
	k.command = func(s *Server) []string {
		return append(flags(s), "--socket="+s.path("s.sock"), "--pid-file="+s.path("pid"),
			"--bind-address=127.0.0.1", "--port="+s.port(), "--skip-name-resolve")
	}
	// The length of the greeting, its number, and version 10 of the protocol.
	k.ready = answers("", "^.\x00\x00\x00\x0a")
	k.url = "root@tcp(%s)/uidring"
	return start(t, k, args)
}

// mariaDBFlags are for the set-up as for the server.
func mariaDBFlags(s *Server) []string {
	return dataFlags(s, "share/mariadb", "--innodb-log-file-size=4M")
}

// dataFlags tell a server where its data is, and an unpacked server where its files are. They set
// small buffers, and allow root to run the server.
func dataFlags(s *Server, share string, more ...string) []string {
	flags := append([]string{"--no-defaults", "--datadir=" + s.path("data"), "--tmpdir=" + s.path("."), "--innodb-buffer-pool-size=16M"}, more...)
	usr := filepath.Dir(filepath.Dir(s.program))
	if share = filepath.Join(usr, share); filepath.Dir(usr) != "/" {
		flags = append(flags, "--basedir="+usr, "--lc-messages-dir="+share, "--character-sets-dir="+filepath.Join(share, "charsets"),
			"--plugin-dir="+filepath.Join(usr, "lib/mysql/plugin"))
	}
	if os.Geteuid() == 0 {
		flags = append(flags, "--user=root")
	}
	return flags
}

// copyTemplate copies the data folder of a server that was never started, which create makes. The
// first test that needs one leaves it in the user's cache: to set one up takes ten times longer.
func copyTemplate(s *Server, name string, create func()) {
	info, err := os.Stat(s.program)
	testkit.Must(s.t, err)
	cache, err := os.UserCacheDir()
	testkit.Must(s.t, err)
	template := filepath.Join(cache, "uidring", fmt.Sprintf("%s-%d-%d", name, info.Size(), info.ModTime().Unix()))
	if _, err := os.Stat(template); err == nil {
		testkit.Must(s.t, os.CopyFS(s.path("data"), os.DirFS(template)))
		return
	}
	create()
	draft := template + "-" + s.port() // no other server has this port
	if os.CopyFS(draft, os.DirFS(s.path("data"))) == nil {
		_ = os.Rename(draft, template) // an error says that another process was first
	}
	testkit.Must(s.t, os.RemoveAll(draft))
}

// bootstrapMariaDB creates the system tables with the server itself. The script that does so,
// mariadb-install-db, needs a program from the client's package; the server does not.
func bootstrapMariaDB(s *Server) {
	testkit.Must(s.t, os.Mkdir(s.path("data"), 0o700))
	script := []byte("CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n")
	for _, name := range [...]string{"system_tables", "performance_tables", "system_tables_data"} {
		script = append(append(script, mariaDBScript(s, name)...), '\n')
	}
	script = append(script, "CREATE DATABASE uidring;\n"...)
	s.run(script, s.program, append(mariaDBFlags(s), "--bootstrap", "--log-warnings=0",
		"--enforce-storage-engine=", "--max-allowed-packet=8M")...)
}

// mariaDBScript reads one of the scripts that came with the server; version 11 renamed them.
func mariaDBScript(s *Server, name string) string {
	share := []string{"/usr/share"}
	if target, err := filepath.EvalSymlinks(s.program); err == nil {
		share = slices.Insert(share, 0, filepath.Join(filepath.Dir(filepath.Dir(target)), "share"))
	}
	for _, dir := range share {
		if files, _ := filepath.Glob(filepath.Join(dir, "m*/m*_"+name+".sql")); len(files) > 0 {
			return testkit.ReadFile(s.t, files[0])
		}
	}
	s.t.Fatalf("testserver: prepare MariaDB: no %s.sql below %s", name, strings.Join(share, ", "))
	return ""
}
