package assigner

import (
	"net"
	"net/netip"
	"testing"
)

// ifaceAddr is an address as net.InterfaceAddrs gives it.
type ifaceAddr string

func (ifaceAddr) Network() string  { return "ip+net" }
func (a ifaceAddr) String() string { return string(a) }

// A host's real addresses cannot be chosen by a test, so this one stands inside the package.
func TestFirstAddress(t *testing.T) {
	anyKind, only4 := netip.Addr.IsValid, netip.Addr.Is4
	for _, c := range []struct {
		name  string
		addrs []net.Addr
		suits func(netip.Addr) bool
		want  string // empty: none
	}{
		{"none", nil, anyKind, ""},
		{"loopback alone", []net.Addr{ifaceAddr("127.0.0.1/8"), ifaceAddr("::1/128")}, anyKind, ""},
		{"link-local alone", []net.Addr{ifaceAddr("169.254.3.4/16"), ifaceAddr("fe80::1/64")}, anyKind, ""},
		{"IPv4", []net.Addr{ifaceAddr("127.0.0.1/8"), ifaceAddr("10.0.1.2/24"), ifaceAddr("10.0.1.3/24")}, only4, "10.0.1.2"},
		{"IPv6 first", []net.Addr{ifaceAddr("fe80::1/64"), ifaceAddr("2001:db8::1/64"), ifaceAddr("10.0.1.2/24")}, anyKind, "2001:db8::1"},
		{"IPv4 behind IPv6", []net.Addr{ifaceAddr("2001:db8::1/64"), ifaceAddr("10.0.1.2/24")}, only4, "10.0.1.2"},
		{"IPv6 where IPv4 is asked for", []net.Addr{ifaceAddr("2001:db8::1/64")}, only4, ""},
		{"not a prefix", []net.Addr{ifaceAddr("point to point"), ifaceAddr("10.0.1.2/24")}, anyKind, "10.0.1.2"},
		{"real type", []net.Addr{&net.IPNet{IP: net.IPv4(10, 0, 1, 2), Mask: net.CIDRMask(24, 32)}}, only4, "10.0.1.2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, _ := netip.ParseAddr(c.want)
			if addr := firstAddress(c.addrs, c.suits); addr != want {
				t.Errorf("firstAddress = %v, want %v", addr, want)
			}
		})
	}
}
