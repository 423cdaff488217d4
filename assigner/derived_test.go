package assigner_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/testkit"
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
	testkit.Must(t, err)
	want := assigner.Grant{WorkerID: 7, First: 1, Last: assigner.Unlimited, Guarantee: assigner.GuaranteeDerived, Reusable: true}
	if errRenew, errRelease := extend(t.Context(), lease), lease.End(t.Context(), assigner.Ending{Released: true, Used: 100}); errRenew != nil || errRelease != nil || lease.Grant() != want {
		t.Errorf("Renew: %v; Release: %v; grant %+v, want %+v", errRenew, errRelease, lease.Grant(), want)
	}
	if err := extend(t.Context(), lease); !errors.Is(err, assigner.ErrWorkerRowLost) {
		t.Errorf("Renew after End: %v, want ErrWorkerRowLost", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if l, err := assigner.Static(7).Assign(ended, domain(bitsalloc.Default())); l != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("Assign after the end of its context: %v, %v", l, err)
	}
}

func TestGuaranteeString(t *testing.T) {
	for g, want := range map[assigner.Guarantee]string{-1: "guarantee(-1)", 0: "derived", assigner.GuaranteeSticky: "sticky", assigner.GuaranteeLossy: "lossy",
		assigner.GuaranteeFresh: "fresh", assigner.GuaranteeFenced: "fenced", 5: "guarantee(5)"} {
		if g.String() != want {
			t.Errorf("%d is %v, want %s", g, g, want)
		}
	}
}

// A worker ID that does not fit is an error, never cut down to size. Addresses that agree in the
// bits that count collide.
func TestNumbersAndAddresses(t *testing.T) {
	out, unknown := assigner.ErrWorkerOutOfRange, assigner.ErrWorkerUnknown
	suffix := func(addr string, bits int) assigner.Assigner {
		return assigner.IPv4Suffix(netip.MustParseAddr(addr), bits)
	}
	sum := func(addr string) assigner.Assigner { return assigner.IPSum(netip.MustParseAddr(addr)) }
	for name, tt := range map[string]struct {
		assigner assigner.Assigner
		want     int64
		wantErr  error
	}{
		"the largest number":        {assigner.Static(131071), 131071, nil},
		"a larger number":           {assigner.Static(131072), 0, out},
		"a negative number":         {assigner.Static(-1), 0, out},
		"the lowest number":         {assigner.Static(-1 << 63), 0, out},
		"the highest number":        {assigner.Static(1<<63 - 1), 0, out},
		"two hosts that end in .55": {suffix("192.168.209.55", 10), 311, nil}, // an incident: they shared a worker ID
		"the other one, by default": {suffix("192.168.161.55", 0), 311, nil},
		"10 bits, by default":       {suffix("192.168.4.55", 0), 55, nil},
		"16 bits tell them apart":   {suffix("192.168.209.55", 16), 209<<8 | 55, nil},
		"17 bits":                   {suffix("10.3.2.1", 17), 1<<16 | 2<<8 | 1, nil},
		"1 bit":                     {suffix("255.255.255.255", 1), 1, nil},
		"more bits than the layout": {suffix("255.255.255.255", 18), 0, out},
		"2^31, which is positive":   {suffix("128.0.0.0", 32), 0, out},
		"33 bits":                   {suffix("10.0.0.1", 33), 0, unknown},
		"-1 bits":                   {suffix("10.0.0.1", -1), 0, unknown},
		"IPv4 in IPv6":              {suffix("::ffff:192.168.209.55", 10), 311, nil},
		"no IPv4":                   {suffix("fe80::1%eth0", 10), 0, unknown},
		"a sum":                     {sum("10.0.1.2"), 13, nil},
		"the same sum":              {sum("10.0.2.1"), 13, nil},
		"a sum above a byte":        {sum("192.168.209.55"), 624, nil},
		"the highest sum":           {sum("255.255.255.255"), 1020, nil},
		"a sum of IPv4 in IPv6":     {sum("::ffff:10.0.1.2"), 13, nil},
		"a sum of six bits each":    {sum("2001:db8::41"), 0x20 + 0x01 + 0x0d + 0x38 + 1, nil}, // 38 is b8 without its upper bits
		"a sum with a zone":         {sum("fe80::1%eth0"), 0x3e + 1, nil},
		"the highest sum of IPv6":   {sum("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"), 1008, nil},
	} {
		t.Run(name, func(t *testing.T) { check(t, tt.assigner, tt.want, tt.wantErr) })
	}
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
		"w-3":                      {3, nil, 3, nil},
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
	testkit.Must(t, err)
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
	testkit.Must(t, err)
	for _, a := range addrs {
		ip, _ := netip.AddrFromSlice(a.(*net.IPNet).IP)
		if ip = ip.Unmap(); !ip.IsGlobalUnicast() || !ip.Is4() {
			continue
		}
		want, err := assigner.IPv4Suffix(ip, 16).Assign(t.Context(), domain(bitsalloc.Default()))
		testkit.Must(t, err)
		check(t, assigner.IPv4Suffix(netip.Addr{}, 16), want.Grant().WorkerID, nil)
		return
	}
	check(t, assigner.IPv4Suffix(netip.Addr{}, 16), 0, assigner.ErrWorkerUnknown)
}

func extend(ctx context.Context, l assigner.Lease) error {
	_, err := l.Renew(ctx, assigner.Use{Used: 100, Want: 200})
	return err
}
