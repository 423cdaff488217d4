package testserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Galera starts a cluster of MariaDB servers that replicate synchronously, and returns when each
// node has joined it. The other nodes start with a copy of the first one's data, so they only need
// the writes since then.
func Galera(t testing.TB, nodes int) []*Server {
	t.Helper()
	const library = "/usr/lib/galera/libgalera_smm.so"
	if _, err := os.Stat(library); err != nil {
		missing(t, "Galera", "no "+library, "galera-4")
	}
	transferByLog(t)
	const joined = "Synchronized with group"
	var group []string
	args := func() []string {
		replication, writes := FreeAddr(t), FreeAddr(t)
		defer func() { group = append(group, replication) }()
		return []string{
			"--wsrep-on=ON", "--wsrep-provider=" + library, "--wsrep-node-address=127.0.0.1",
			"--wsrep-cluster-address=gcomm://" + strings.Join(group, ","), "--wsrep-sst-method=log",
			"--wsrep-provider-options=gcache.size=8M;gmcast.listen_addr=tcp://" + replication + ";ist.recv_addr=" + writes,
			"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
		}
	}
	r := mariaDB(t)
	first := start(t, r, append(args(), "--wsrep-new-cluster"))
	first.hasLogged(joined, 1)
	first.Stop()
	data := os.DirFS(first.path("data"))
	r.prepare = func(s *Server) error { return os.CopyFS(s.path("data"), data) }
	cluster := []*Server{first}
	for range nodes - 1 {
		s := prepared(t, FreeAddr(t), r, args())
		cluster = append(cluster, s)
	}
	for i, s := range cluster {
		s.up()
		s.hasLogged(joined, 1+max(0, 1-i)) // the first one has two starts in its log
	}
	return cluster
}

// transferByLog installs the state transfer "log", a script that a node runs when it joins and
// when another node joins. It transfers no data: the server sends the missing writes itself, from
// the position that the joining node has asked for.
func transferByLog(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "wsrep_sst_log"), []byte(transferScript), 0o755); err != nil {
		t.Fatalf("testserver: Galera: %v", err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

const transferScript = `#!/bin/sh
while [ $# -gt 0 ]; do
	case $1 in
	--role) role=$2 ;;
	--datadir) data=$2 ;;
	--address) address=$2 ;;
	--gtid) position=$2 ;;
	esac
	shift
done
if [ "$role" = donor ]; then
	echo "$position" >"/${address#*/}/position"
	echo "done $position"
	exit
fi
rm -f "$data/position"
echo "ready 127.0.0.1:4444$data"
until [ -s "$data/position" ]; do sleep 0.05; done
cat "$data/position"
`

// hasLogged returns when the server's log contains text so many times.
func (s *Server) hasLogged(text string, times int) {
	s.t.Helper()
	s.await("its log", func() error {
		if log, _ := os.ReadFile(s.path("log")); strings.Count(string(log), text) < times {
			return fmt.Errorf("%q does not stand there %d times", text, times)
		}
		return nil
	})
}
