package sqlassigner

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"time"
)

// The values of WORKER_NODE.TYPE.
const (
	typeContainer = 1
	typeHost      = 2
)

// A node describes, in WORKER_NODE, the process that took a worker ID.
type node struct {
	host, port string
	kind       int
}

// thisNode follows the rules of the original. In a container of its platform, the environment
// variables JPAAS_HOST and JPAAS_HTTP_PORT, or else JPAAS_HOST_PORT_8080, hold the container's
// address. Elsewhere thisNode uses the host's address and a made-up port that differs between
// processes.
func thisNode() (node, error) {
	env := func(name string) string { return strings.TrimSpace(os.Getenv(name)) }
	host, port := env("JPAAS_HOST"), cmp.Or(env("JPAAS_HTTP_PORT"), env("JPAAS_HOST_PORT_8080"))
	if (host == "") != (port == "") {
		return node{}, fmt.Errorf("sqlassigner: JPAAS_HOST is %q and JPAAS_HTTP_PORT (or JPAAS_HOST_PORT_8080) is %q; "+
			"set both in a container, and neither of them elsewhere", host, port)
	}
	if host == "" {
		port := fmt.Sprintf("%d-%d", time.Now().UnixMilli(), rand.IntN(100_000))
		return node{host: hostName(), port: port, kind: typeHost}, nil
	}
	return node{host: host, port: port, kind: typeContainer}, nil
}

// hostName returns the host's first address, or its name if it has no network. It prefers IPv4, as
// the original does by way of Java. The column is only read by people.
func hostName() string {
	addrs, _ := net.InterfaceAddrs()
	var found string
	for _, a := range addrs {
		ip, ok := a.(*net.IPNet)
		switch {
		case !ok || !ip.IP.IsGlobalUnicast():
		case ip.IP.To4() != nil:
			return ip.IP.String()
		case found == "":
			found = ip.IP.String()
		}
	}
	name, _ := os.Hostname()
	return cmp.Or(found, name, "localhost")
}
