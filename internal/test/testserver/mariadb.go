package testserver

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// MariaDB starts a MariaDB server with an empty database named uidring and the user root without a
// password. Arguments are added to the server's command line, such as "--sync-binlog=0".
func MariaDB(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, kind{
		name:     "MariaDB",
		programs: []string{"mariadbd"},
		apt:      "mariadb-server-core",
		prepare: func(s *Server) error {
			return copyTemplate(s, "mariadb", func() error { return bootstrapMariaDB(s) })
		},
		command: func(s *Server) []string {
			return append(mariaDBFlags(s), "--socket="+s.path("s.sock"), "--pid-file="+s.path("pid"),
				"--bind-address=127.0.0.1", "--port="+s.port(), "--skip-name-resolve")
		},
		ready: greets,
		url:   "root@tcp(%s)/uidring",
	}, args)
}

// greets reads the length of the greeting, its number, and version 10 of the protocol.
var greets = answers("", "^.\x00\x00\x00\x0a")

// mariaDBFlags are small buffers and the folders, for the set-up as for the server.
func mariaDBFlags(s *Server) []string {
	flags := []string{"--no-defaults", "--datadir=" + s.path("data"), "--tmpdir=" + s.path("."),
		"--innodb-log-file-size=4M", "--innodb-buffer-pool-size=16M"}
	return append(flags, placeFlags(s, "share/mariadb")...)
}

// placeFlags tell an unpacked server where its files are, and each server that it may run as root.
func placeFlags(s *Server, share string) (flags []string) {
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
func copyTemplate(s *Server, name string, create func() error) error {
	info, errInfo := os.Stat(s.program)
	cache, err := os.UserCacheDir()
	if errInfo != nil || err != nil {
		return create()
	}
	template := filepath.Join(cache, "uidring", fmt.Sprintf("%s-%d-%d", name, info.Size(), info.ModTime().Unix()))
	if _, err := os.Stat(template); err == nil {
		return os.CopyFS(s.path("data"), os.DirFS(template))
	}
	if err := create(); err != nil {
		return err
	}
	draft := template + "-" + s.port() // no other server has this port
	if os.CopyFS(draft, os.DirFS(s.path("data"))) == nil {
		_ = os.Rename(draft, template) // an error says that another process was first
	}
	return os.RemoveAll(draft)
}

// bootstrapMariaDB creates the system tables with the server itself. The script that does so,
// mariadb-install-db, needs a program from the client's package; the server does not.
func bootstrapMariaDB(s *Server) error {
	if err := os.Mkdir(s.path("data"), 0o700); err != nil {
		return err
	}
	script := []byte("CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n")
	for _, name := range [...]string{"system_tables", "performance_tables", "system_tables_data"} {
		text, err := mariaDBScript(s.program, name)
		if err != nil {
			return err
		}
		script = append(append(script, text...), '\n')
	}
	script = append(script, "CREATE DATABASE uidring;\n"...)
	return s.run(script, s.program, append(mariaDBFlags(s), "--bootstrap", "--log-warnings=0",
		"--enforce-storage-engine=", "--max-allowed-packet=8M")...)
}

// mariaDBScript reads one of the scripts that came with the server; version 11 renamed them.
func mariaDBScript(program, name string) ([]byte, error) {
	share := []string{"/usr/share"}
	if target, err := filepath.EvalSymlinks(program); err == nil {
		share = slices.Insert(share, 0, filepath.Join(filepath.Dir(filepath.Dir(target)), "share"))
	}
	for _, dir := range share {
		if files, _ := filepath.Glob(filepath.Join(dir, "m*/m*_"+name+".sql")); len(files) > 0 {
			return os.ReadFile(files[0])
		}
	}
	return nil, fmt.Errorf("no %s.sql below %s", name, strings.Join(share, ", "))
}
