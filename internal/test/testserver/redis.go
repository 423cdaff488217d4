package testserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/uidring/uidring/internal/test/poll"
)

// Redis starts a Redis server that writes each command to its append-only file before it answers.
// Arguments are added to the server's command line, such as "--appendonly", "no".
func Redis(t testing.TB, args ...string) *Server {
	t.Helper()
	program, ok := find("redis-server", "valkey-server")
	if !ok {
		missing(t, "Redis", "no redis-server", "redis-server")
	}
	return start(t, recipe{
		name:    "Redis",
		program: program,
		command: func(s *Server) []string {
			return []string{"--port", s.port(), "--bind", "127.0.0.1", "--dir", s.dir,
				"--save", "", "--appendonly", "yes", "--appendfsync", "always"}
		},
		ready: ping,
		dsn:   func(addr string) string { return "redis://" + addr + "/0" },
		stop:  syscall.SIGTERM,
	}, args)
}

// ping is answered with an error while Redis loads its data.
func ping(addr string) error {
	answer, err := ask(addr, "PING")
	if err == nil && answer != "PONG" {
		err = fmt.Errorf("answer %q to PING", answer)
	}
	return err
}

// ask sends a command without quotes, and returns the answer.
func ask(addr, command string) (text string, err error) {
	err = dialed(addr, func(conn net.Conn) error {
		if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
			return err
		}
		in := bufio.NewReader(conn)
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		text = strings.TrimSpace(line[1:])
		switch line[0] {
		case '-':
			return fmt.Errorf("%s: %s", command, text)
		case '$':
			n, err := strconv.Atoi(text)
			if err != nil {
				return err
			}
			body := make([]byte, n)
			_, err = io.ReadFull(in, body)
			text = string(body)
			return err
		}
		return nil
	})
	return text, err
}

// RedisReplica starts a Redis server that copies the data of another one. Arguments are as with
// Redis.
func RedisReplica(t testing.TB, of *Server, args ...string) *Server {
	t.Helper()
	s := Redis(t, append([]string{"--replicaof", "127.0.0.1 " + of.port(), "--repl-diskless-sync-delay", "0"}, args...)...)
	poll.Until(t, "the primary counts the replica", func() bool {
		info, err := ask(of.addr, "INFO replication")
		return err == nil && strings.Contains(info, "port="+s.port()+",state=online") && !strings.Contains(info, "min_slaves_good_slaves:0")
	})
	return s
}

// RedisSentinel starts a Sentinel that watches a Redis server under the name uidring, and replaces
// it a second after it is gone. Start the replicas before.
func RedisSentinel(t testing.TB, primary *Server) *Server {
	t.Helper()
	program, ok := find("redis-server", "valkey-server")
	if !ok {
		missing(t, "Redis Sentinel", "no redis-server", "redis-server")
	}
	s := start(t, recipe{
		name:    "Redis Sentinel",
		program: program,
		prepare: func(s *Server) error {
			config := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor uidring 127.0.0.1 %s 1\n"+
				"sentinel down-after-milliseconds uidring 1000\nsentinel failover-timeout uidring 3000\n", s.port(), s.dir, primary.port())
			return os.WriteFile(s.path("sentinel.conf"), []byte(config), 0o600)
		},
		command: func(s *Server) []string { return []string{s.path("sentinel.conf"), "--sentinel"} },
		ready:   ping,
		dsn:     func(addr string) string { return "redis-sentinel://" + addr + "/0?master_name=uidring" },
		stop:    syscall.SIGTERM,
	}, nil)
	poll.Until(t, "the Sentinel knows the replica", func() bool {
		info, err := ask(s.addr, "INFO sentinel")
		return err == nil && strings.Contains(info, "status=ok") && !strings.Contains(info, "slaves=0")
	})
	return s
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
			if _, err := ask(s.addr, command); err != nil {
				t.Fatalf("testserver: Redis cluster: %v", err)
			}
		}
		servers = append(servers, s)
	}
	poll.Until(t, "the cluster has all servers", func() bool {
		for _, s := range servers {
			info, err := ask(s.addr, "CLUSTER INFO")
			if err != nil || !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, fmt.Sprintf("cluster_size:%d\r", n)) {
				return false
			}
		}
		return true
	})
	return servers
}
