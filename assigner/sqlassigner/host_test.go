package sqlassigner

import (
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestNodeFollowsTheContainersEnvironment(t *testing.T) {
	long := strings.Repeat("h", maxNodeText)
	for _, tt := range []struct {
		host, httpPort, port8080 string
		want                     node
		problem                  string
	}{
		{"10.1.2.3", "8080", "", node{"10.1.2.3", "8080", typeContainer}, ""},
		{"10.1.2.3", "", "31080", node{"10.1.2.3", "31080", typeContainer}, ""},
		{"10.1.2.3", "8080", "31080", node{"10.1.2.3", "8080", typeContainer}, ""},
		{"10.1.2.3", "  ", "31080", node{"10.1.2.3", "31080", typeContainer}, ""},
		{long, "8080", "", node{long, "8080", typeContainer}, ""},
		{long + "h", "8080", "", node{}, "JPAAS_HOST has 65 characters"},
		{"10.1.2.3", long + "h", "", node{}, "65, allowed: 64"},
		{"10.1.2.3", "", "", node{}, `JPAAS_HOST is "10.1.2.3" and JPAAS_HTTP_PORT (or JPAAS_HOST_PORT_8080) is ""`},
		{"", "8080", "", node{}, `JPAAS_HOST is "" and JPAAS_HTTP_PORT (or JPAAS_HOST_PORT_8080) is "8080"`},
		{" ", "", "31080", node{}, `is "31080"`},
	} {
		t.Setenv("JPAAS_HOST", tt.host)
		t.Setenv("JPAAS_HTTP_PORT", tt.httpPort)
		t.Setenv("JPAAS_HOST_PORT_8080", tt.port8080)
		got, err := thisNode()
		switch {
		case tt.problem == "" && (err != nil || got != tt.want):
			t.Errorf("%q %q %q: %+v, %v; want %+v", tt.host, tt.httpPort, tt.port8080, got, err, tt.want)
		case tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)):
			t.Errorf("%q %q %q: %v; want %q", tt.host, tt.httpPort, tt.port8080, err, tt.problem)
		}
	}
}

func TestNodeOfAHostHasItsAddressAndAPortOfItsOwn(t *testing.T) {
	for _, name := range []string{"JPAAS_HOST", "JPAAS_HTTP_PORT", "JPAAS_HOST_PORT_8080"} {
		t.Setenv(name, "")
	}
	before := time.Now().UnixMilli()
	n, err := thisNode()
	if err != nil {
		t.Fatal(err)
	}
	if n.kind != typeHost || n.host == "" {
		t.Errorf("node %+v, want type %d and a host", n, typeHost)
	}
	parts := regexp.MustCompile(`^(\d{13})-(\d{1,5})$`).FindStringSubmatch(n.port)
	if parts == nil {
		t.Fatalf("port %q, want <milliseconds>-<random below 100000>", n.port)
	}
	if ms, err := strconv.ParseInt(parts[1], 10, 64); err != nil || ms < before || ms > time.Now().UnixMilli() {
		t.Errorf("port %q, want the time in milliseconds, at least %d: %v", n.port, before, err)
	}
	other, err := thisNode()
	if err != nil {
		t.Fatal(err)
	}
	if third, _ := thisNode(); n.port == other.port && other.port == third.port {
		t.Errorf("three starts have the port %q", n.port)
	}
}

func TestHostKeyIsAddressAndMAC(t *testing.T) {
	key, err := HostKey()
	if err != nil {
		if !strings.HasPrefix(err.Error(), "sqlassigner: no host key: ") {
			t.Errorf("error %q", err)
		}
		t.Skipf("this host has none: %v", err)
	}
	addr, mac := key[:len(key)-len(":00:00:00:00:00:00")], key[len(key)-len("00:00:00:00:00:00"):]
	ip := net.ParseIP(addr)
	if ip == nil || ip.IsLoopback() || ip.IsLinkLocalUnicast() {
		t.Errorf("key %q: address %q", key, addr)
	}
	if hw, err := net.ParseMAC(mac); err != nil || len(hw) != 6 {
		t.Errorf("key %q: MAC address %q: %v", key, mac, err)
	}
	if again, err := HostKey(); err != nil || again != key {
		t.Errorf("HostKey is %q, then %q: %v", key, again, err)
	}
	if err := checkKey(key); err != nil {
		t.Error(err)
	}
}
