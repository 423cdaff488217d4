package assigner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/testkit"
)

// derivedDomain has the default layout, with 17 bits for the worker ID.
func derivedDomain() Domain {
	return Domain{Layout: bitsalloc.Default(), Epoch: bitsalloc.DefaultEpoch(), Now: func() int64 { return 1 }}
}

// variable is the environment variable of the command env.
const variable = "UIDRING_TEST_WORKER"

// derive makes a command on an assigner without a store. It returns false for another one.
func (c command) derive() bool {
	text := c.Arg(1)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	switch c.Words[0] {
	case "static":
		c.number("", Static(c.Number(1)))
	case "ipv4suffix":
		c.number("", IPv4Suffix(netip.MustParseAddr(text), int(c.Number(2))))
	case "ipsum":
		c.number("", IPSum(netip.MustParseAddr(text)))
	case "name":
		c.T.Setenv("HOSTNAME", text)
		c.number("Hostname: ", Hostname(text))
		c.number("StatefulSet: ", StatefulSet(""))
	case "env":
		c.T.Setenv(variable, text)
		c.number("Env: ", c.derived[0])
		c.number("StatefulSet: ", c.derived[1])
	case "unset":
		c.number("Env: ", Env(text))
		c.number("StatefulSet: ", StatefulSet(text))
	case "addresses":
		c.firstAddress()
	default:
		return false
	}
	return true
}

// number prints the worker ID of an assigner, or its error.
func (c command) number(of string, a Assigner) {
	l, err := a.Assign(c.T.Context(), derivedDomain())
	if (l == nil) == (err == nil) {
		c.T.Errorf("lease %v, error %v", l, err)
	}
	if c.answer(err); l != nil {
		c.Print("  %sworker %d", of, l.Grant().WorkerID)
	}
}

// noPrefix is an address as net.InterfaceAddrs gives it for a network of another kind.
type noPrefix string

func (noPrefix) Network() string  { return "ip+net" }
func (a noPrefix) String() string { return string(a) }

// firstAddress prints the address that a host with the given ones has for IPv4Suffix or IPSum. A
// test cannot choose the real addresses of a host.
func (c command) firstAddress() {
	var addrs []net.Addr
	for _, text := range c.Words[2:] {
		if ip, network, err := net.ParseCIDR(text); err == nil {
			addrs = append(addrs, &net.IPNet{IP: ip, Mask: network.Mask})
		} else {
			addrs = append(addrs, noPrefix(text))
		}
	}
	suits := map[string]func(netip.Addr) bool{"ipv4suffix": netip.Addr.Is4, "ipsum": netip.Addr.IsValid}[c.Arg(1)]
	c.Print("  %v", firstAddress(addrs, suits))
}

func TestStaticGrant(t *testing.T) {
	lease, err := Static(7).Assign(t.Context(), derivedDomain())
	testkit.Must(t, err)
	want := Grant{WorkerID: 7, First: 1, Last: Unlimited, Guarantee: GuaranteeDerived, Reusable: true}
	testkit.Must(t, extend(t.Context(), lease, 100, 200))
	testkit.Must(t, lease.End(t.Context(), Ending{Released: true, Used: 100}))
	if lease.Grant() != want {
		t.Errorf("grant %+v, want %+v", lease.Grant(), want)
	}
	if err := extend(t.Context(), lease, 100, 200); !errors.Is(err, ErrWorkerRowLost) {
		t.Errorf("Renew after End: %v, want ErrWorkerRowLost", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if l, err := Static(7).Assign(ended, derivedDomain()); l != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Assign after the end of its context: %v, %v", l, err)
	}
}

func TestGuaranteeString(t *testing.T) {
	for g, want := range map[Guarantee]string{-1: "guarantee(-1)", 0: "derived", GuaranteeSticky: "sticky", GuaranteeLossy: "lossy",
		GuaranteeFresh: "fresh", GuaranteeFenced: "fenced", 5: "guarantee(5)"} {
		if g.String() != want {
			t.Errorf("%d is %v, want %s", g, g, want)
		}
	}
}

// An empty name and the zero address mean the name and the address of the host.
func TestHostDefaults(t *testing.T) {
	name, err := os.Hostname()
	testkit.Must(t, err)
	outcome := func(a Assigner) string {
		l, err := a.Assign(t.Context(), derivedDomain())
		return fmt.Sprintf("%+v, %v", l, err)
	}
	t.Setenv("HOSTNAME", name)
	pod, host := outcome(StatefulSet("")), outcome(Hostname(name))
	t.Setenv("HOSTNAME", "") // StatefulSet then asks the system
	if got := outcome(StatefulSet("")); got != pod {
		t.Errorf("StatefulSet without HOSTNAME: %s, want %s", got, pod)
	}
	if got := outcome(Hostname("")); got != host {
		t.Errorf("Hostname of the host: %s, want %s", got, host)
	}
	addrs, err := net.InterfaceAddrs()
	testkit.Must(t, err)
	for _, a := range addrs {
		ip, _ := netip.AddrFromSlice(a.(*net.IPNet).IP)
		if ip = ip.Unmap(); !ip.IsGlobalUnicast() || !ip.Is4() {
			continue
		}
		if got, want := outcome(IPv4Suffix(netip.Addr{}, 16)), outcome(IPv4Suffix(ip, 16)); got != want {
			t.Errorf("IPv4Suffix of the host: %s, want %s", got, want)
		}
		return
	}
	if _, err := IPv4Suffix(netip.Addr{}, 16).Assign(t.Context(), derivedDomain()); !errors.Is(err, ErrWorkerUnknown) {
		t.Errorf("IPv4Suffix of a host without an address: %v, want ErrWorkerUnknown", err)
	}
}
