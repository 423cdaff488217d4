package sqlassigner

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// The values of WORKER_NODE.TYPE.
const (
	typeContainer = 1
	typeHost      = 2
)

// maxNodeText is the width of HOST_NAME and PORT, in characters.
const maxNodeText = 64

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
	host := strings.TrimSpace(os.Getenv("JPAAS_HOST"))
	port := strings.TrimSpace(os.Getenv("JPAAS_HTTP_PORT"))
	if port == "" {
		port = strings.TrimSpace(os.Getenv("JPAAS_HOST_PORT_8080"))
	}
	if (host == "") != (port == "") {
		return node{}, fmt.Errorf("sqlassigner: JPAAS_HOST is %q and JPAAS_HTTP_PORT (or JPAAS_HOST_PORT_8080) is %q; "+
			"set both in a container, and neither of them elsewhere", host, port)
	}
	if host == "" {
		port := fmt.Sprintf("%d-%d", time.Now().UnixMilli(), rand.IntN(100_000))
		return node{host: hostName(), port: port, kind: typeHost}, nil
	}
	if h, p := utf8.RuneCountInString(host), utf8.RuneCountInString(port); h > maxNodeText || p > maxNodeText {
		return node{}, fmt.Errorf("sqlassigner: JPAAS_HOST has %d characters and JPAAS_HTTP_PORT (or JPAAS_HOST_PORT_8080) %d, "+
			"allowed: %d", h, p, maxNodeText)
	}
	return node{host: host, port: port, kind: typeContainer}, nil
}

// hostName returns the host's address or, on a host without a network, its name. The column is only
// read by people.
func hostName() string {
	if card, err := firstCard(); err == nil {
		return card.addr
	}
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name[:min(len(name), maxNodeText)]
}

// HostKey returns a key for [Sticky] from the IP address and the MAC address of the host, such as
// "10.0.0.7:0c:c4:7a:12:34:56". It uses the first network card that is up and has an address that
// is neither loopback nor link-local, and returns an error if there is no such card.
//
// The key is only as unique as these addresses. Docker's default bridge repeats both on every host,
// 172.17.0.2 and 02:42:ac:11:00:02 for the first container. Two processes of one host share the
// key. Of all processes that share a key, the last to start has the worker ID, and the others lose
// it. Prefer a configured key, such as "orders-1".
func HostKey() (string, error) {
	card, err := firstCard()
	if err != nil {
		return "", fmt.Errorf("sqlassigner: no host key: %w; give Sticky a key of your own", err)
	}
	if card.mac == "" {
		return "", fmt.Errorf("sqlassigner: no host key: the card with %s has no MAC address; give Sticky a key of your own",
			card.addr)
	}
	return card.addr + ":" + card.mac, nil
}

// A card is a network card with its first address.
type card struct{ addr, mac string }

// firstCard prefers IPv4, as the original does by way of Java.
func firstCard() (card, error) {
	cards, err := net.Interfaces()
	if err != nil {
		return card{}, err
	}
	var first card
	for _, c := range cards {
		addrs, err := c.Addrs()
		if err != nil || c.Flags&net.FlagUp == 0 {
			continue
		}
		for _, a := range addrs {
			ip, ok := a.(*net.IPNet)
			if !ok || !ip.IP.IsGlobalUnicast() {
				continue
			}
			found := card{ip.IP.String(), c.HardwareAddr.String()}
			if ip.IP.To4() != nil {
				return found, nil
			}
			if first.addr == "" {
				first = found
			}
		}
	}
	if first.addr == "" {
		return card{}, errors.New("this host has no network card with an address that is neither loopback nor link-local")
	}
	return first, nil
}
