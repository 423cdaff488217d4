package testserver

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/uidring/uidring/internal/test/testkit"
)

// PostgreSQL starts a PostgreSQL server whose superuser postgres needs no password from this host.
// Arguments are added to the server's command line, such as "-c", "fsync=off". PostgreSQL refuses
// to run as root: for root it runs as the user postgres, or else as another unprivileged user.
func PostgreSQL(t testing.TB, args ...string) *Server {
	t.Helper()
	k := kind{
		name:     "PostgreSQL",
		programs: []string{"postgres"},
		apt:      "postgresql",
		prepare: func(s *Server) {
			s.run(nil, filepath.Join(filepath.Dir(s.program), "initdb"), "-D", s.path("data"),
				"-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync")
		},
		command: func(s *Server) []string {
			return []string{"-D", s.path("data"), "-h", "127.0.0.1", "-p", s.port(), "-k", s.dir,
				"-c", "max_connections=500"} // for tests with a hundred handles
		},
		ready: letsIn,
		url:   "postgres://postgres@%s/postgres?sslmode=disable",
		stop:  syscall.SIGINT,
	}
	if os.Geteuid() == 0 {
		if k.as = lookupAccount("postgres", "nobody"); k.as == nil || runtime.GOOS != "linux" {
			missing(t, "PostgreSQL, which does not run as root, as another user", k.apt)
		}
	}
	return start(t, k, args)
}

// letsIn opens a session, of 41 bytes and protocol 3.0. The answer begins with R when the user is
// let in, and with E while the server is starting.
var letsIn = answers("\x00\x00\x00\x29\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00", "^R")

// PgBouncer starts a pgbouncer in front of a PostgreSQL server. It gives each transaction a
// connection of its own to the server. Settings are lines of its configuration.
func PgBouncer(t testing.TB, behind *Server, settings ...string) *Server {
	t.Helper()
	return start(t, kind{
		name:     "pgbouncer",
		programs: []string{"pgbouncer"},
		apt:      "pgbouncer",
		as:       behind.kind.as, // it does not run as root either
		conf: func(s *Server) string {
			return fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%s user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\n"+
				"unix_socket_dir =\nauth_type = any\npool_mode = transaction\nserver_login_retry = 0.1\n%s\n", behind.port(), s.port(), strings.Join(settings, "\n"))
		},
		command: func(s *Server) []string { return []string{s.path("conf")} },
		ready:   letsIn,
		url:     behind.kind.url,
	}, nil)
}

// redisPrograms are Redis and its relative, or the program that UIDRING_REDIS names.
func redisPrograms() []string {
	if name := os.Getenv("UIDRING_REDIS"); name != "" {
		return []string{name}
	}
	return []string{"redis-server", "valkey-server"}
}

// Redis starts a Redis server that writes each command to its append-only file before it answers.
// Arguments are added to the server's command line, such as "--appendonly", "no".
func Redis(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, kind{
		name:     "Redis",
		programs: redisPrograms(),
		apt:      "redis-server",
		command: func(s *Server) []string {
			return []string{"--port", s.port(), "--bind", "127.0.0.1", "--dir", s.dir,
				"--save", "", "--appendonly", "yes", "--appendfsync", "always"}
		},
		ready: redis("PING", `^\+PONG`), // an error while it loads its data
		url:   "redis://%s/0",
	}, args)
}

// redis looks at the answer to a command.
func redis(command, pattern string) func(addr string) error {
	return answers(command+"\r\nQUIT\r\n", pattern)
}

// RedisReplica starts a Redis server that copies the data of another one. Arguments are as with
// Redis.
func RedisReplica(t testing.TB, of *Server, args ...string) *Server {
	t.Helper()
	s := Redis(t, append([]string{"--replicaof", "127.0.0.1 " + of.port(), "--repl-diskless-sync-delay", "0"}, args...)...)
	good := `connected_slaves:\d+\r\n(min_slaves_good_slaves:[1-9]\d*\r\n)?slave0.*port=` + s.port() + ",state=online"
	of.await(t, redis("INFO replication", good))
	return s
}

// RedisSentinel starts a Sentinel that watches a Redis server under the name uidring, and replaces
// it a second after it is gone. Start the replicas before.
func RedisSentinel(t testing.TB, primary *Server) *Server {
	t.Helper()
	return start(t, kind{
		name:     "Redis Sentinel",
		programs: redisPrograms(),
		apt:      "redis-server",
		conf: func(s *Server) string {
			return fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor uidring 127.0.0.1 %s 1\n"+
				"sentinel down-after-milliseconds uidring 1000\nsentinel failover-timeout uidring 3000\n", s.port(), s.dir, primary.port())
		},
		command: func(s *Server) []string { return []string{s.path("conf"), "--sentinel"} },
		ready:   redis("INFO sentinel", "status=ok.*slaves=[1-9]"),
	}, nil)
}

// RedisCluster starts n Redis servers as a cluster, each with a part of the slots.
func RedisCluster(t testing.TB, n int) []*Server {
	t.Helper()
	const slots = 16384
	var servers []*Server
	for i := range n {
		_, port, _ := net.SplitHostPort(FreeAddr(t))
		s := Redis(t, "--cluster-enabled", "yes", "--cluster-port", port)
		commands := []string{fmt.Sprintf("CLUSTER SET-CONFIG-EPOCH %d", i+1), fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", i*slots/n, (i+1)*slots/n-1)}
		for _, other := range servers {
			commands = append(commands, "CLUSTER MEET 127.0.0.1 "+other.port()+" "+other.args[len(other.args)-1])
		}
		for _, command := range commands {
			if err := redis(command, `^\+OK`)(s.addr); err != nil {
				t.Fatalf("testserver: Redis cluster: %v", err)
			}
		}
		servers = append(servers, s)
	}
	for _, s := range servers {
		s.await(t, redis("CLUSTER INFO", fmt.Sprintf("cluster_state:ok.*cluster_size:%d\r", n)))
	}
	return servers
}

// NATS starts a NATS server with JetStream that syncs each write to its disk before it answers.
// Arguments are added to the server's command line.
func NATS(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, kind{
		name:     "NATS",
		programs: []string{"nats-server"},
		apt:      "none, make servers builds it",
		conf: func(s *Server) string {
			return fmt.Sprintf("jetstream { store_dir: %q, sync_interval: always }\n", s.path("data"))
		},
		command: func(s *Server) []string { return []string{"-c", s.path("conf"), "-a", "127.0.0.1", "-p", s.port()} },
		ready:   answers("", `"jetstream":true`),
		url:     "nats://%s",
	}, args)
}

// NATSCluster starts a cluster of n NATS servers. The cluster may elect its leaders after
// NATSCluster has returned.
func NATSCluster(t testing.TB, n int) []*Server {
	t.Helper()
	var routes []string
	for range n {
		routes = append(routes, "nats://"+FreeAddr(t))
	}
	servers := make([]*Server, n)
	for i := range servers {
		servers[i] = NATS(t, "--server_name", fmt.Sprint("n", i), "--cluster_name", "c", "--cluster", routes[i], "--routes", strings.Join(routes, ","))
	}
	return servers
}

// Etcd starts an etcd server, a cluster of one. Arguments are added to the server's command line.
func Etcd(t testing.TB, args ...string) *Server {
	t.Helper()
	return EtcdCluster(t, 1, args...)[0]
}

// EtcdCluster starts a cluster of n etcd servers, and waits until they serve clients. After a
// Restart call [Await]. Arguments are as with Etcd.
func EtcdCluster(t testing.TB, n int, args ...string) []*Server {
	t.Helper()
	var peers, members []string
	for i := range n {
		peers = append(peers, "http://"+FreeAddr(t))
		members = append(members, fmt.Sprintf("n%d=%s", i, peers[i]))
	}
	servers := make([]*Server, n)
	for i, peer := range peers {
		k := kind{
			name:     "etcd",
			programs: []string{"etcd"},
			apt:      "etcd-server",
			command: func(s *Server) []string {
				return []string{"--name", fmt.Sprint("n", i), "--data-dir", s.path("data"),
					"--listen-client-urls", s.DSN(), "--advertise-client-urls", s.DSN(), "--listen-peer-urls", peer,
					"--initial-advertise-peer-urls", peer, "--initial-cluster", strings.Join(members, ",")}
			},
			// A member serves no client before there is a leader.
			ready:  func(string) error { return serves(peer+"/version", "", "etcdcluster") },
			serves: func(addr string) error { return serves("http://"+addr+"/health", "", `"true"`) },
			url:    "http://%s",
		}
		if n == 1 {
			k.ready = k.serves
		}
		servers[i] = start(t, k, args)
	}
	Await(t, servers...)
	return servers
}

// ZooKeeper starts a ZooKeeper server by itself.
func ZooKeeper(t testing.TB) *Server {
	t.Helper()
	return zookeeper(t, "", 0)
}

// ZooKeeperEnsemble starts n ZooKeeper servers that replicate their data, and waits until they
// serve clients. After a Restart call [Await].
func ZooKeeperEnsemble(t testing.TB, n int) []*Server {
	t.Helper()
	var members []string
	for id := 1; id <= n; id++ {
		_, port, _ := net.SplitHostPort(FreeAddr(t))
		members = append(members, fmt.Sprintf("server.%d=%s:%s\n", id, FreeAddr(t), port))
	}
	servers := make([]*Server, n)
	for i := range servers {
		servers[i] = zookeeper(t, strings.Join(members, ""), i+1)
	}
	Await(t, servers...)
	return servers
}

func zookeeper(t testing.TB, members string, id int) *Server {
	t.Helper()
	folder := "/usr/share/java"
	if prefersNewest() {
		folder = filepath.Join(newest(), "libzookeeper-java", folder)
	}
	var jars []string // the manifest of the last one names jars of the machine
	for _, pattern := range []string{"slf4j-simple", "slf4j-api", "zookeeper-jute", "netty-*", "metrics-core", "snappy-java", "commons-[ci][ol]*", "zookeeper"} {
		found, _ := filepath.Glob(filepath.Join(folder, pattern+".jar"))
		jars = append(jars, found...)
	}
	k := kind{
		name:     "ZooKeeper",
		programs: []string{"java"},
		needs:    filepath.Join(folder, "zookeeper.jar"),
		apt:      "libzookeeper-java",
		conf: func(s *Server) string {
			return fmt.Sprintf("tickTime=500\ninitLimit=20\nsyncLimit=10\nmaxClientCnxns=0\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\n"+
				"admin.enableServer=false\n4lw.commands.whitelist=ruok,srvr\n%s", s.path("data"), s.port(), members)
		},
		prepare: func(s *Server) {
			testkit.Must(t, os.Mkdir(s.path("data"), 0o700))
			testkit.Must(t, os.WriteFile(s.path("data/myid"), fmt.Append(nil, id), 0o600))
		},
		command: func(s *Server) []string {
			return []string{"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
				"-Dzookeeper.preAllocSize=1024", "-cp", strings.Join(jars, ":"),
				"org.apache.zookeeper.server.quorum.QuorumPeerMain", s.path("conf")}
		},
		ready:  answers("ruok", "imok"),
		serves: answers("srvr", "Mode: "),
		url:    "%s",
	}
	if members == "" {
		k.ready = k.serves
	}
	return start(t, k, nil)
}

// Dynalite starts a server with the API of DynamoDB. The script takes the arguments of the npm
// package dynalite, which is installed beside it.
func Dynalite(t testing.TB, script string) *Server {
	t.Helper()
	script, err := filepath.Abs(script)
	testkit.Must(t, err)
	return start(t, kind{
		name:     "dynalite",
		programs: []string{"node"},
		needs:    filepath.Join(filepath.Dir(script), "node_modules/dynalite"),
		apt:      "nodejs, then make servers",
		command: func(s *Server) []string {
			return []string{script, "--host", "127.0.0.1", "--port", s.port(), "--path", s.path("data"), "--createTableMs", "0"}
		},
		ready: func(addr string) error { return serves("http://"+addr, "", "") },
		url:   "http://%s",
	}, nil)
}
