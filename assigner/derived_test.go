package assigner_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

func domain(l bitsalloc.Layout) assigner.Domain {
	return assigner.Domain{Layout: l, Epoch: bitsalloc.DefaultEpoch(), Now: func() int64 { return 1 }}
}

// check compares the worker ID of the default layout, which has 17 bits for it, with a worker ID or
// with an error and words of its text.
func check(t *testing.T, a assigner.Assigner, want int64, wantErr error, words ...string) {
	t.Helper()
	got := int64(0)
	lease, err := a.Assign(t.Context(), domain(bitsalloc.Default()))
	if lease != nil {
		got = lease.Grant().WorkerID
	}
	if got != want || !errors.Is(err, wantErr) || (lease == nil) == (err == nil) {
		t.Errorf("lease %v, error %v; want %d, %v", lease, err, want, wantErr)
		return
	}
	for _, sentinel := range []error{assigner.ErrWorkerUnknown, assigner.ErrWorkerOutOfRange} {
		if errors.Is(err, sentinel) != (sentinel == wantErr) {
			t.Errorf("error %v is %v: want %v alone", err, sentinel, wantErr)
		}
	}
	for _, word := range words {
		if !strings.Contains(fmt.Sprint(err), word) {
			t.Errorf("error %v, want %q in it", err, word)
		}
	}
}

func TestStaticGrant(t *testing.T) {
	lease, err := assigner.Static(7).Assign(t.Context(), domain(bitsalloc.Default()))
	if err != nil {
		t.Fatal(err)
	}
	want := assigner.Grant{WorkerID: 7, First: 1, Limit: assigner.Unlimited, Guarantee: assigner.GuaranteeDerived, Reusable: true}
	if errRenew, errRelease := lease.Renew(t.Context(), 100, 200), lease.Release(t.Context(), 100); errRenew != nil || errRelease != nil || lease.Grant() != want {
		t.Errorf("Renew: %v; Release: %v; grant %+v, want %+v", errRenew, errRelease, lease.Grant(), want)
	}
}

// A worker ID that does not fit is an error, never cut down to size.
func TestStaticOutOfRange(t *testing.T) {
	for _, n := range []int64{1024, -1, -1 << 63, 1<<63 - 1} {
		lease, err := assigner.Static(n).Assign(t.Context(), domain(bitsalloc.Snowflake()))
		want := fmt.Sprint("assigner: worker ID out of range: ", n, " from Static, allowed with layout 41/0/10/12@1ms: 0 to 1023")
		if lease != nil || !errors.Is(err, assigner.ErrWorkerOutOfRange) || err.Error() != want {
			t.Errorf("Assign = %v, %v\nwant %s", lease, err, want)
		}
	}
	check(t, assigner.Static(131071), 131071, nil)
	if d := domain(bitsalloc.Layout{DeltaBits: 63}); d.MaxWorkerID() != 0 || d.CheckWorkerID(0, "x") != nil || d.CheckWorkerID(1, "x") == nil {
		t.Error("without a worker field, worker 0 must be the only one")
	}
}

func TestEnv(t *testing.T) {
	const name = "UIDRING_TEST_WORKER"
	a, pod := assigner.Env(name), assigner.StatefulSet(name) // both read it at each Assign
	for text, row := range map[string]struct {
		want    int64
		wantErr error
	}{
		"0":                   {0, nil},
		"0042":                {42, nil},
		"131071":              {131071, nil},
		"131072":              {0, assigner.ErrWorkerOutOfRange},
		"-1":                  {0, assigner.ErrWorkerOutOfRange},
		"9223372036854775808": {0, assigner.ErrWorkerUnknown},
		"":                    {0, assigner.ErrWorkerUnknown},
		" 42":                 {0, assigner.ErrWorkerUnknown},
		"42\n":                {0, assigner.ErrWorkerUnknown},
		"4_2":                 {0, assigner.ErrWorkerUnknown},
		"0x2a":                {0, assigner.ErrWorkerUnknown},
		"1e3":                 {0, assigner.ErrWorkerUnknown},
		"٤٢":                  {0, assigner.ErrWorkerUnknown}, // 42 in other digits
	} {
		t.Setenv(name, text)
		words := []string{name, strings.TrimSpace(text)}
		if row.wantErr == nil {
			words = nil
		}
		check(t, a, row.want, row.wantErr, words...)
		check(t, pod, row.want, row.wantErr, words...)
	}
	const unset = "UIDRING_TEST_WORKER_THAT_IS_UNSET"
	check(t, assigner.Env(unset), 0, assigner.ErrWorkerUnknown, unset, "not set")
	check(t, assigner.StatefulSet(unset), 0, assigner.ErrWorkerUnknown, unset, "not set")
}

func TestIPv4Suffix(t *testing.T) {
	for _, c := range []struct {
		addr    string
		bits    int
		want    int64
		wantErr error
	}{
		// The incident: two hosts of one network that both end in .55 shared a worker ID.
		{"192.168.209.55", 10, 311, nil},
		{"192.168.161.55", 0, 311, nil},          // 0 stands for 10
		{"192.168.209.55", 16, 209<<8 | 55, nil}, // 16 bits tell them apart
		{"10.3.2.1", 17, 1<<16 | 2<<8 | 1, nil},
		{"255.255.255.255", 1, 1, nil},
		{"255.255.255.255", 18, 0, assigner.ErrWorkerOutOfRange},
		{"128.0.0.0", 32, 0, assigner.ErrWorkerOutOfRange}, // 2^31, not -2^31
		{"10.0.0.1", 33, 0, assigner.ErrWorkerUnknown},
		{"10.0.0.1", -1, 0, assigner.ErrWorkerUnknown},
		{"::ffff:192.168.209.55", 10, 311, nil}, // IPv4 in IPv6
		{"fe80::1%eth0", 10, 0, assigner.ErrWorkerUnknown},
	} {
		check(t, assigner.IPv4Suffix(netip.MustParseAddr(c.addr), c.bits), c.want, c.wantErr)
	}
}

func TestIPSum(t *testing.T) {
	for addr, want := range map[string]int64{
		// Any two addresses with the same sum collide.
		"10.0.1.2": 13, "10.0.2.1": 13, "192.168.209.55": 624,
		"255.255.255.255": 1020,
		"::ffff:10.0.1.2": 13,                            // IPv4 in IPv6 counts as IPv4
		"2001:db8::41":    0x20 + 0x01 + 0x0d + 0x38 + 1, // b8 without its upper two bits is 38
		"fe80::1%eth0":    0x3e + 1,
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff": 1008,
	} {
		check(t, assigner.IPSum(netip.MustParseAddr(addr)), want, nil)
	}
}

func TestHostnameAndStatefulSet(t *testing.T) {
	out, unknown := assigner.ErrWorkerOutOfRange, assigner.ErrWorkerUnknown
	for name, row := range map[string]struct {
		host    int64
		hostErr error
		pod     int64
		podErr  error
	}{
		// Hosts of different roles, and pods of different StatefulSets, collide.
		"web-01":                   {1, nil, 1, nil},
		"db-01":                    {1, nil, 1, nil},
		"my-ids-12":                {12, nil, 12, nil},
		"007":                      {7, nil, 0, unknown},
		"web3":                     {3, nil, 0, unknown},
		"-3":                       {3, nil, 0, unknown},
		"web-131072":               {0, out, 0, out},
		"web-99999999999999999999": {0, unknown, 0, unknown},
		"web-1a":                   {0, unknown, 0, unknown},
		"web-":                     {0, unknown, 0, unknown},
		"web-٤":                    {0, unknown, 0, unknown}, // 4 in other digits
		"web-5d9f8c7b6d-x7k2p":     {0, unknown, 0, unknown}, // a pod of a Deployment
		"web-5d9f8c7b6d-24567":     {24567, nil, 24567, nil}, // the same with bad luck, as documented
	} {
		check(t, assigner.Hostname(name), row.host, row.hostErr)
		t.Setenv("HOSTNAME", name)
		check(t, assigner.StatefulSet(""), row.pod, row.podErr)
	}
}

// An empty name and the zero address mean the name and the address of the host.
func TestHostDefaults(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	outcome := func(a assigner.Assigner) string {
		l, err := a.Assign(t.Context(), domain(bitsalloc.Default()))
		return fmt.Sprint(l, err)
	}
	t.Setenv("HOSTNAME", name)
	pod, host := outcome(assigner.StatefulSet("")), outcome(assigner.Hostname(name))
	t.Setenv("HOSTNAME", "") // StatefulSet then asks the system
	if got := outcome(assigner.StatefulSet("")); got != pod {
		t.Errorf("StatefulSet without HOSTNAME: %s, want %s", got, pod)
	}
	if got := outcome(assigner.Hostname("")); got != host {
		t.Errorf("Hostname of the host: %s, want %s", got, host)
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		ip, _ := netip.AddrFromSlice(a.(*net.IPNet).IP)
		if ip = ip.Unmap(); !ip.IsGlobalUnicast() || !ip.Is4() {
			continue
		}
		want, err := assigner.IPv4Suffix(ip, 16).Assign(t.Context(), domain(bitsalloc.Default()))
		if err != nil {
			t.Fatal(err)
		}
		check(t, assigner.IPv4Suffix(netip.Addr{}, 16), want.Grant().WorkerID, nil)
		return
	}
	check(t, assigner.IPv4Suffix(netip.Addr{}, 16), 0, assigner.ErrWorkerUnknown)
}
