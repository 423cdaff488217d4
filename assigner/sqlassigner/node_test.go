package sqlassigner

import (
	"regexp"
	"strings"
	"testing"
)

func TestNodeFollowsTheContainersEnvironment(t *testing.T) {
	for _, tt := range []struct {
		host, httpPort, port8080 string
		want                     node
		problem                  string
	}{
		{"10.1.2.3", "8080", "", node{"10.1.2.3", "8080", typeContainer}, ""},
		{"10.1.2.3", "", "31080", node{"10.1.2.3", "31080", typeContainer}, ""},
		{"10.1.2.3", "8080", "31080", node{"10.1.2.3", "8080", typeContainer}, ""},
		{"10.1.2.3", "  ", "31080", node{"10.1.2.3", "31080", typeContainer}, ""},
		{"10.1.2.3", "", "", node{}, `JPAAS_HOST is "10.1.2.3" and JPAAS_HTTP_PORT (or JPAAS_HOST_PORT_8080) is ""`},
		{" ", "", "31080", node{}, `JPAAS_HOST is "" and JPAAS_HTTP_PORT (or JPAAS_HOST_PORT_8080) is "31080"`},
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
	ports := make(map[string]bool)
	for range 3 {
		n, err := thisNode()
		if err != nil || n.kind != typeHost || n.host == "" || !regexp.MustCompile(`^\d{13}-\d{1,5}$`).MatchString(n.port) {
			t.Errorf("node %+v, want type %d, a host, and milliseconds-random: %v", n, typeHost, err)
		}
		ports[n.port] = true
	}
	if len(ports) == 1 {
		t.Errorf("three starts have the port %v", ports)
	}
}

// 284 is 28 bits, as in the default layout, if a byte is taken of it.
func TestWidthThatIsNoneIsOfNoLayout(t *testing.T) {
	for _, stored := range []int64{284, 256, -228, -1} {
		if l, _ := (pin{stored, stored, stored, stored, 1000, 0}).layout(); l.DeltaBits != 255 || l.DatacenterBits != 255 || l.WorkerBits != 255 || l.SequenceBits != 255 {
			t.Errorf("widths of %d bits are read as %v", stored, l)
		}
	}
	if l, _ := (pin{28, 5, 17, 13, 1000, 0}).layout(); l.String() != "28/5/17/13@1s" {
		t.Errorf("the default layout is read as %v", l)
	}
}
