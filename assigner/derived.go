package assigner

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path"
	"strconv"
	"strings"
)

// Static returns an assigner that always gives workerID. The operator must keep two processes from
// using the same one.
func Static(workerID int64) Assigner {
	return derived{source: "Static", number: func() (int64, error) { return workerID, nil }}
}

// Env returns an assigner that reads the worker ID, in decimal and without spaces, from an
// environment variable at each Assign, as sharding-jdbc's generator does. Two processes that
// inherit one environment get the same worker ID.
func Env(name string) Assigner {
	return derived{source: "environment variable " + name, number: func() (int64, error) {
		text, ok := os.LookupEnv(name)
		if !ok {
			return 0, errors.New("it is not set")
		}
		return strconv.ParseInt(text, 10, 64) // Assign rejects negative numbers
	}}
}

// IPv4Suffix returns an assigner that takes the low bits of an IPv4 address as worker ID, as
// sharding-jdbc's IPIdGenerator does. bits is 1 to 32; 0 means 10. The zero address means this
// host's first address that is neither loopback nor link-local.
//
// Two hosts whose addresses agree in these bits get the same worker ID: 192.168.209.55 and
// 192.168.161.55 both give 311. So do two processes on one host, and containers on different hosts
// whose private networks repeat the same addresses.
func IPv4Suffix(addr netip.Addr, bits int) Assigner {
	return fromAddress("IPv4Suffix", addr, netip.Addr.Is4, func(ip []byte) (int64, error) {
		if bits < 0 || bits > 32 {
			return 0, fmt.Errorf("bits %d, allowed: 0 (for 10) to 32", bits)
		}
		return int64(binary.BigEndian.Uint32(ip)) & (1<<cmp.Or(bits, 10) - 1), nil
	})
}

// IPSum returns an assigner that adds up the octets of an IPv4 address, at most 1,020, or the low
// six bits of each byte of an IPv6 address, at most 1,008, as sharding-jdbc's IPSectionKeyGenerator
// does. The zero address means this host's first address of either kind that is neither loopback
// nor link-local.
//
// Any two addresses with the same sum collide: 10.0.1.2 and 10.0.2.1 both give 13. So do two
// processes on one host.
func IPSum(addr netip.Addr) Assigner {
	return fromAddress("IPSum", addr, netip.Addr.IsValid, func(ip []byte) (sum int64, err error) {
		mask := byte(0xff)
		if len(ip) > 4 { //mutate:number an address has 4 or 16 bytes
			mask = 0x3f
		}
		for _, b := range ip {
			sum += int64(b & mask)
		}
		return sum, nil
	})
}

// Hostname returns an assigner that takes the trailing digits of a host name as worker ID, as
// sharding-jdbc's HostNameKeyGenerator does: web-12 gives 12. The empty name means the name of this
// host.
//
// Hosts of different roles collide: web-01 and db-01 both give 1. So do two processes on one host.
func Hostname(name string) Assigner {
	return fromName("Hostname", name, "*", "a name that ends in digits")
}

// StatefulSet returns an assigner that takes the ordinal of a Kubernetes pod as worker ID. It reads
// the environment variable indexEnv, into which the pod specification puts the label
// apps.kubernetes.io/pod-index. If indexEnv is empty, it uses the end of the pod's host name
// (HOSTNAME, or else the system's): ids-3 gives 3.
//
// Ordinals are unique within one StatefulSet, not between two of them: ids-3 and orders-3 collide.
// While a node is cut off, a pod that was deleted by force can run beside its successor with the
// same ordinal. The random suffix of another kind of pod is rejected unless it happens to be all
// digits; indexEnv does not have that gap.
func StatefulSet(indexEnv string) Assigner {
	if indexEnv != "" {
		return Env(indexEnv)
	}
	return fromName("StatefulSet", os.Getenv("HOSTNAME"), "?*-", "a name of a StatefulSet's pod, such as ids-0")
}

// derived is an assigner that gets its worker ID from a function and does not protect it.
type derived struct {
	source string
	number func() (int64, error)
}

func (a derived) Assign(ctx context.Context, d Domain) (Lease, error) {
	n, err := a.number()
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrWorkerUnknown, a.source, err)
	}
	if err := d.CheckWorkerID(n, a.source); err != nil {
		return nil, err
	}
	return &derivedLease{grant: Grant{WorkerID: n, First: 1, Last: Unlimited, Guarantee: GuaranteeDerived, Reusable: true}}, nil
}

// derivedLease has no store.
type derivedLease struct {
	grant Grant
	ended bool
}

func (l *derivedLease) Grant() Grant { return l.grant }
func (l *derivedLease) Renew(context.Context, Use) (Grant, error) {
	if l.ended {
		return l.grant, fmt.Errorf("%w: the lease of worker %d has ended", ErrWorkerRowLost, l.grant.WorkerID)
	}
	return l.grant, nil
}

func (l *derivedLease) End(context.Context, Ending) error {
	l.ended = true
	return nil
}

// fromAddress derives the worker ID from addr or, if it is zero, from the host's first usable
// address that suits.
func fromAddress(source string, addr netip.Addr, suits func(netip.Addr) bool, number func(ip []byte) (int64, error)) Assigner {
	return derived{source: source, number: func() (int64, error) {
		ip := addr.Unmap()
		if !ip.IsValid() {
			addrs, err := net.InterfaceAddrs()
			if err != nil { //mutate:false no test makes the system fail
				return 0, err
			}
			ip = firstAddress(addrs, suits)
		}
		if !suits(ip) {
			return 0, fmt.Errorf("%v is no usable address; pass an IPv4 address, or none on a host with an address that is neither loopback nor link-local", ip)
		}
		return number(ip.AsSlice())
	}}
}

// fromName derives the worker ID from the digits at the end of a name or, if it is empty, of this
// host's name. The rest of the name has to match the pattern; allowed describes such names.
func fromName(source, name, pattern, allowed string) Assigner {
	return derived{source: source, number: func() (n int64, err error) {
		host := name
		if host == "" {
			host, _ = os.Hostname() // after an error the empty name is rejected below
		}
		rest := strings.TrimRight(host, "0123456789")
		n, err = strconv.ParseInt(host[len(rest):], 10, 64)
		if ok, _ := path.Match(pattern, rest); err != nil || !ok {
			return 0, fmt.Errorf("host name %q, allowed: %s", host, allowed)
		}
		return n, nil
	}}
}

// firstAddress returns the first address that suits and is neither loopback nor link-local, or the
// zero address.
func firstAddress(addrs []net.Addr, suits func(netip.Addr) bool) netip.Addr {
	for _, a := range addrs {
		prefix, _ := netip.ParsePrefix(a.String()) // after an error its address is not usable either
		if ip := prefix.Addr(); ip.IsGlobalUnicast() && suits(ip) {
			return ip
		}
	}
	return netip.Addr{}
}
