package testserver

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

const zookeeperJar = "/usr/share/java/zookeeper.jar"

// ZooKeeper starts a ZooKeeper server by itself.
func ZooKeeper(t testing.TB) *Server {
	t.Helper()
	return startZooKeeper(t, FreeAddr(t), "", 0, inService)
}

// ZooKeeperEnsemble starts n ZooKeeper servers that replicate their data, and waits until they
// serve clients. After a Restart call AwaitZooKeeper.
func ZooKeeperEnsemble(t testing.TB, n int) []*Server {
	t.Helper()
	var addrs []string
	var members strings.Builder
	for id := 1; id <= n; id++ {
		peer := FreeAddr(t, addrs...)
		election := FreeAddr(t, append(addrs, peer)...)
		addrs = append(addrs, peer, election)
		_, port, _ := net.SplitHostPort(election)
		fmt.Fprintf(&members, "server.%d=%s:%s\n", id, peer, port)
	}
	servers := make([]*Server, n)
	for i := range servers {
		servers[i] = startZooKeeper(t, FreeAddr(t, addrs...), members.String(), i+1, alive)
		addrs = append(addrs, servers[i].Addr())
	}
	AwaitZooKeeper(t, servers...)
	return servers
}

// AwaitZooKeeper waits until the servers of an ensemble have a leader and serve clients.
func AwaitZooKeeper(t testing.TB, servers ...*Server) {
	t.Helper()
	await(t, inService, servers)
}

func startZooKeeper(t testing.TB, addr, members string, id int, ready func(addr string) error) *Server {
	t.Helper()
	program, ok := find("java")
	if _, err := os.Stat(zookeeperJar); !ok || err != nil {
		missing(t, "ZooKeeper", "no java, or no "+zookeeperJar, "zookeeper")
	}
	return startAt(t, addr, recipe{
		name:    "ZooKeeper",
		program: program,
		prepare: func(s *Server) error {
			text := fmt.Sprintf("tickTime=500\ninitLimit=20\nsyncLimit=10\nmaxClientCnxns=0\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\n"+
				"admin.enableServer=false\n4lw.commands.whitelist=ruok,srvr\n%s", s.path("data"), s.port(), members)
			return errors.Join(os.Mkdir(s.path("data"), 0o700), os.WriteFile(s.path("data/myid"), fmt.Append(nil, id), 0o600),
				os.WriteFile(s.path("conf"), []byte(text), 0o600))
		},
		command: func(s *Server) []string {
			return []string{"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
				"-Dzookeeper.preAllocSize=1024", "-cp", zookeeperJar + ":/usr/share/java/slf4j-simple.jar",
				"org.apache.zookeeper.server.quorum.QuorumPeerMain", s.path("conf")}
		},
		ready: ready,
		dsn:   func(addr string) string { return addr },
		stop:  syscall.SIGTERM,
	}, nil)
}

// alive reports an error unless the server runs, inService unless it serves clients.
func alive(addr string) error     { return fourLetters(addr, "ruok", "imok") }
func inService(addr string) error { return fourLetters(addr, "srvr", "Mode: ") }

func fourLetters(addr, command, want string) error {
	return dialed(addr, func(conn net.Conn) error {
		if _, err := io.WriteString(conn, command); err != nil {
			return err
		}
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.Contains(string(answer), want) {
			return fmt.Errorf("answer %q to %s: %w", answer, command, err)
		}
		return nil
	})
}
