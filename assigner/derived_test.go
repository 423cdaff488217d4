package assigner_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

func domain(l bitsalloc.Layout) assigner.Domain {
	return assigner.Domain{Layout: l, Epoch: bitsalloc.DefaultEpoch(), Now: func() int64 { return 1 }}
}

// assigned asks for a worker ID of the default layout, with 17 bits for it.
func assigned(t *testing.T, a assigner.Assigner) (int64, error) {
	t.Helper()
	lease, err := a.Assign(t.Context(), domain(bitsalloc.Default()))
	if err != nil {
		if lease != nil {
			t.Errorf("a lease beside the error %v", err)
		}
		return 0, err
	}
	return lease.Grant().WorkerID, nil
}

// check compares the result of an assigner with a worker ID, or with an error and words of its
// text.
func check(t *testing.T, a assigner.Assigner, want int64, wantErr error, words ...string) {
	t.Helper()
	got, err := assigned(t, a)
	if got != want || !errors.Is(err, wantErr) {
		t.Errorf("worker %d, error %v; want %d, %v", got, err, want, wantErr)
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

func TestADerivedGrantIsUnfencedAndComesBack(t *testing.T) {
	t.Setenv("UIDRING_TEST_WORKER", "7")
	t.Setenv("HOSTNAME", "ids-7")
	for name, a := range map[string]assigner.Assigner{
		"Static":               assigner.Static(7),
		"Env":                  assigner.Env("UIDRING_TEST_WORKER"),
		"IPv4Suffix":           assigner.IPv4Suffix(netip.MustParseAddr("10.0.0.7"), 0),
		"IPSum":                assigner.IPSum(netip.MustParseAddr("1.2.3.1")),
		"Hostname":             assigner.Hostname("web-7"),
		"StatefulSet":          assigner.StatefulSet(""),
		"StatefulSet by label": assigner.StatefulSet("UIDRING_TEST_WORKER"),
	} {
		t.Run(name, func(t *testing.T) {
			lease, err := a.Assign(t.Context(), domain(bitsalloc.Default()))
			if err != nil {
				t.Fatal(err)
			}
			want := assigner.Grant{
				WorkerID: 7, First: 1, Limit: assigner.Unlimited, Guarantee: assigner.GuaranteeDerived, Reusable: true,
			}
			if lease.Grant() != want || want.Fenced() {
				t.Errorf("Grant = %+v, want %+v", lease.Grant(), want)
			}
			if err := lease.Renew(t.Context(), 100, 200); err != nil {
				t.Errorf("Renew: %v", err)
			}
			if lease.Grant() != want {
				t.Errorf("Grant after Renew = %+v, want %+v", lease.Grant(), want)
			}
			if err := lease.Release(t.Context(), 100); err != nil {
				t.Errorf("Release: %v", err)
			}
		})
	}
}

func TestOutOfRangeIsAnErrorNeverAModulo(t *testing.T) {
	t.Setenv("UIDRING_TEST_WORKER", "1024")
	t.Setenv("HOSTNAME", "ids-1024")
	const allowed = "allowed with layout 41/0/10/12@1ms: 0 to 1023"
	for _, c := range []struct {
		source string
		a      assigner.Assigner
		number string
	}{
		{"Static", assigner.Static(1024), "1024"},
		{"Static", assigner.Static(-1), "-1"},
		{"Static", assigner.Static(-1 << 63), "-9223372036854775808"},
		{"Static", assigner.Static(1<<63 - 1), "9223372036854775807"},
		{"environment variable UIDRING_TEST_WORKER", assigner.Env("UIDRING_TEST_WORKER"), "1024"},
		{"IPv4Suffix", assigner.IPv4Suffix(netip.MustParseAddr("10.0.4.0"), 11), "1024"},
		{"Hostname", assigner.Hostname("web-1024"), "1024"},
		{"StatefulSet", assigner.StatefulSet(""), "1024"},
		{"StatefulSet: environment variable UIDRING_TEST_WORKER", assigner.StatefulSet("UIDRING_TEST_WORKER"), "1024"},
	} {
		t.Run(c.source+c.number, func(t *testing.T) {
			lease, err := c.a.Assign(t.Context(), domain(bitsalloc.Snowflake()))
			want := "assigner: worker ID out of range: " + c.number + " from " + c.source + ", " + allowed
			if lease != nil || !errors.Is(err, assigner.ErrWorkerOutOfRange) || err.Error() != want {
				t.Errorf("Assign = %v, %v\nwant %s", lease, err, want)
			}
		})
	}
}

func TestIPSumOutOfRangeIsAnErrorToo(t *testing.T) {
	narrow := bitsalloc.Layout{DeltaBits: 41, WorkerBits: 9, SequenceBits: 13}
	for addr, want := range map[string]int64{"255.255.2.0": 512, "255.255.255.255": 1020, "ffff:ffff:ffff:ffff:ffff::": 630} {
		_, err := assigner.IPSum(netip.MustParseAddr(addr)).Assign(t.Context(), domain(narrow))
		if !errors.Is(err, assigner.ErrWorkerOutOfRange) || !strings.Contains(err.Error(), fmt.Sprint(want, " from IPSum")) {
			t.Errorf("%s: %v, want ErrWorkerOutOfRange with %d", addr, err, want)
		}
	}
	lease, err := assigner.IPSum(netip.MustParseAddr("255.255.1.0")).Assign(t.Context(), domain(narrow))
	if err != nil || lease.Grant().WorkerID != 511 {
		t.Errorf("the largest sum that fits: %v", err)
	}
}

func TestTheLargestWorkerIDFits(t *testing.T) {
	for _, l := range []bitsalloc.Layout{bitsalloc.Default(), bitsalloc.Baidu(), bitsalloc.Snowflake(), bitsalloc.JavaScript()} {
		d := domain(l)
		largest := int64(1)<<l.WorkerBits - 1
		if d.MaxWorkerID() != largest {
			t.Errorf("%v: MaxWorkerID = %d, want %d", l, d.MaxWorkerID(), largest)
		}
		for _, n := range []int64{0, 1, largest} {
			if lease, err := assigner.Static(n).Assign(t.Context(), d); err != nil || lease.Grant().WorkerID != n {
				t.Errorf("%v: worker %d: %v", l, n, err)
			}
		}
		if _, err := assigner.Static(largest+1).Assign(t.Context(), d); !errors.Is(err, assigner.ErrWorkerOutOfRange) {
			t.Errorf("%v: worker %d: %v, want ErrWorkerOutOfRange", l, largest+1, err)
		}
	}
	none := bitsalloc.Layout{DeltaBits: 63}
	if d := domain(none); d.MaxWorkerID() != 0 || d.CheckWorkerID(0, "x") != nil || d.CheckWorkerID(1, "x") == nil {
		t.Error("without a worker field, worker 0 must be the only one")
	}
}

func TestEnv(t *testing.T) {
	const name = "UIDRING_TEST_WORKER"
	for _, c := range []struct {
		text    string
		want    int64
		wantErr error
	}{
		{"0", 0, nil},
		{"42", 42, nil},
		{"0042", 42, nil},
		{"131071", 131071, nil},
		{"131072", 0, assigner.ErrWorkerOutOfRange},
		{"-1", 0, assigner.ErrWorkerOutOfRange},
		{"9223372036854775807", 0, assigner.ErrWorkerOutOfRange},
		{"9223372036854775808", 0, assigner.ErrWorkerOutOfRange},
		{"-9223372036854775809", 0, assigner.ErrWorkerOutOfRange},
		{"18446744073709551617", 0, assigner.ErrWorkerOutOfRange}, // 2^64 + 1
		{"", 0, assigner.ErrWorkerUnknown},
		{" ", 0, assigner.ErrWorkerUnknown},
		{" 42", 0, assigner.ErrWorkerUnknown},
		{"42 ", 0, assigner.ErrWorkerUnknown},
		{"42\n", 0, assigner.ErrWorkerUnknown},
		{"4 2", 0, assigner.ErrWorkerUnknown},
		{"4_2", 0, assigner.ErrWorkerUnknown},
		{"0x2a", 0, assigner.ErrWorkerUnknown},
		{"4.2", 0, assigner.ErrWorkerUnknown},
		{"1e3", 0, assigner.ErrWorkerUnknown},
		{"٤٢", 0, assigner.ErrWorkerUnknown}, // 42 in other digits
		{"worker-42", 0, assigner.ErrWorkerUnknown},
	} {
		t.Run(strconv.Quote(c.text), func(t *testing.T) {
			t.Setenv(name, c.text)
			words := []string{name, strings.TrimSpace(c.text)}
			if c.wantErr == nil {
				words = nil
			}
			check(t, assigner.Env(name), c.want, c.wantErr, words...)
			check(t, assigner.StatefulSet(name), c.want, c.wantErr, words...)
		})
	}
}

func TestEnvUnset(t *testing.T) {
	const name = "UIDRING_TEST_WORKER_THAT_NOBODY_SETS"
	check(t, assigner.Env(name), 0, assigner.ErrWorkerUnknown, name, "not set")
	check(t, assigner.StatefulSet(name), 0, assigner.ErrWorkerUnknown, name, "not set", "StatefulSet")
	check(t, assigner.Env(""), 0, assigner.ErrWorkerUnknown, "not set")
}

func TestEnvIsReadAtEachAssignment(t *testing.T) {
	const name = "UIDRING_TEST_WORKER"
	a := assigner.Env(name)
	for _, n := range []int64{1, 2} {
		t.Setenv(name, strconv.FormatInt(n, 10))
		check(t, a, n, nil)
	}
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
		{"192.168.161.55", 10, 311, nil},
		{"192.168.209.55", 0, 311, nil}, // 0 stands for 10
		{"192.168.161.55", 0, 311, nil},
		{"192.168.209.55", 16, 209<<8 | 55, nil}, // 16 bits tell them apart
		{"192.168.161.55", 16, 161<<8 | 55, nil},
		{"10.0.4.55", 0, 55, nil},
		{"10.3.2.1", 17, 1<<16 | 2<<8 | 1, nil},
		{"172.17.0.2", 16, 2, nil}, // as in every container that comes first on its host
		{"0.0.0.0", 10, 0, nil},
		{"255.255.255.255", 1, 1, nil},
		{"255.255.255.255", 17, 131071, nil},
		{"255.255.255.255", 18, 0, assigner.ErrWorkerOutOfRange},
		{"128.0.0.0", 32, 0, assigner.ErrWorkerOutOfRange}, // 2^31, not -2^31
		{"0.0.0.9", 32, 9, nil},
		{"10.0.0.1", 33, 0, assigner.ErrWorkerUnknown},
		{"10.0.0.1", -1, 0, assigner.ErrWorkerUnknown},
		{"::ffff:192.168.209.55", 10, 311, nil}, // IPv4 in IPv6
		{"2001:db8::1", 10, 0, assigner.ErrWorkerUnknown},
		{"fe80::1%eth0", 10, 0, assigner.ErrWorkerUnknown},
	} {
		t.Run(fmt.Sprintf("%s/%d", c.addr, c.bits), func(t *testing.T) {
			check(t, assigner.IPv4Suffix(netip.MustParseAddr(c.addr), c.bits), c.want, c.wantErr)
		})
	}
}

func TestIPSum(t *testing.T) {
	for _, c := range []struct {
		addr string
		want int64
	}{
		// Any two addresses with the same sum collide.
		{"10.0.1.2", 13},
		{"10.0.2.1", 13},
		{"192.168.209.55", 624},
		{"192.168.161.103", 624},
		{"0.0.0.0", 0},
		{"255.255.255.255", 1020},
		{"::ffff:10.0.1.2", 13}, // IPv4 in IPv6 counts as IPv4
		{"::", 0},
		{"::1", 1},
		{"2001:db8::1", 0x20 + 0x01 + 0x0d + 0x38 + 1}, // b8 without its upper two bits is 38
		{"2001:db8::1:0", 0x20 + 0x01 + 0x0d + 0x38 + 1},
		{"2001:db8::41", 0x20 + 0x01 + 0x0d + 0x38 + 1},
		{"fe80::1%eth0", 0x3e + 1},
		{"fe80::1%eth1", 0x3e + 1},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 1008},
	} {
		t.Run(c.addr, func(t *testing.T) {
			check(t, assigner.IPSum(netip.MustParseAddr(c.addr)), c.want, nil)
		})
	}
}

func TestHostname(t *testing.T) {
	for _, c := range []struct {
		name    string
		want    int64
		wantErr error
	}{
		// Hosts of different roles collide.
		{"web-01", 1, nil},
		{"db-01", 1, nil},
		{"web-12", 12, nil},
		{"web12", 12, nil},
		{"web-1-2", 2, nil},
		{"007", 7, nil},
		{"web-131071", 131071, nil},
		{"web-131072", 0, assigner.ErrWorkerOutOfRange},
		{"web-99999999999999999999", 0, assigner.ErrWorkerOutOfRange},
		{"web", 0, assigner.ErrWorkerUnknown},
		{"web-1a", 0, assigner.ErrWorkerUnknown},
		{"web-1.example.com", 0, assigner.ErrWorkerUnknown},
		{"web-", 0, assigner.ErrWorkerUnknown},
		{"web-٤", 0, assigner.ErrWorkerUnknown}, // 4 in other digits
	} {
		t.Run(c.name, func(t *testing.T) {
			check(t, assigner.Hostname(c.name), c.want, c.wantErr)
		})
	}
}

func TestStatefulSetByHostName(t *testing.T) {
	for _, c := range []struct {
		name    string
		want    int64
		wantErr error
	}{
		// Two StatefulSets collide.
		{"ids-3", 3, nil},
		{"orders-3", 3, nil},
		{"ids-0", 0, nil},
		{"a-3", 3, nil},
		{"my-ids-12", 12, nil},
		{"ids-131071", 131071, nil},
		{"ids-131072", 0, assigner.ErrWorkerOutOfRange},
		{"ids-99999999999999999999", 0, assigner.ErrWorkerOutOfRange},
		{"ids", 0, assigner.ErrWorkerUnknown},
		{"ids3", 0, assigner.ErrWorkerUnknown},
		{"ids-", 0, assigner.ErrWorkerUnknown},
		{"-3", 0, assigner.ErrWorkerUnknown},
		{"3", 0, assigner.ErrWorkerUnknown},
		{"ids-3.ids.default.svc.cluster.local", 0, assigner.ErrWorkerUnknown},
		{"web-5d9f8c7b6d-x7k2p", 0, assigner.ErrWorkerUnknown}, // a pod of a Deployment
		{"web-5d9f8c7b6d-24567", 24567, nil},                   // the same with bad luck, as documented
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("HOSTNAME", c.name)
			check(t, assigner.StatefulSet(""), c.want, c.wantErr)
		})
	}
}

func TestAnEmptyNameMeansTheHostsOwn(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	expect := func(t *testing.T, a assigner.Assigner, pattern string) {
		t.Helper()
		match := regexp.MustCompile(pattern).FindStringSubmatch(name)
		if match == nil {
			check(t, a, 0, assigner.ErrWorkerUnknown, strconv.Quote(name))
			return
		}
		n, err := strconv.ParseInt(match[1], 10, 64)
		if err != nil || n > 131071 {
			check(t, a, 0, assigner.ErrWorkerOutOfRange, match[1])
			return
		}
		check(t, a, n, nil)
	}
	t.Run("Hostname", func(t *testing.T) { expect(t, assigner.Hostname(""), `([0-9]+)$`) })
	t.Run("StatefulSet", func(t *testing.T) {
		t.Setenv("HOSTNAME", "") // then the system is asked
		expect(t, assigner.StatefulSet(""), `^.+-([0-9]+)$`)
	})
}

func TestTheZeroAddressMeansTheHostsOwn(t *testing.T) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var first, first4 netip.Addr
	for _, a := range addrs {
		ip, _ := netip.AddrFromSlice(a.(*net.IPNet).IP)
		ip = ip.Unmap()
		if ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || ip.IsUnspecified() {
			continue
		}
		if !first.IsValid() {
			first = ip
		}
		if !first4.IsValid() && ip.Is4() {
			first4 = ip
		}
	}
	expect := func(own, given assigner.Assigner, addr netip.Addr) {
		t.Helper()
		if !addr.IsValid() {
			check(t, own, 0, assigner.ErrWorkerUnknown, "no such address")
			return
		}
		want, err := assigned(t, given)
		if err != nil {
			t.Fatal(err)
		}
		check(t, own, want, nil)
	}
	expect(assigner.IPv4Suffix(netip.Addr{}, 16), assigner.IPv4Suffix(first4, 16), first4)
	expect(assigner.IPSum(netip.Addr{}), assigner.IPSum(first), first)
}

func TestAnEndedContextGivesNoLease(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, a := range []assigner.Assigner{
		assigner.Static(1), assigner.Env("HOME"), assigner.IPv4Suffix(netip.Addr{}, 0), assigner.IPSum(netip.Addr{}),
		assigner.Hostname(""), assigner.StatefulSet(""), assigner.StatefulSet("HOME"),
	} {
		lease, err := a.Assign(ctx, domain(bitsalloc.Default()))
		if lease != nil || !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "assigner: ") {
			t.Errorf("Assign = %v, %v, want context.Canceled", lease, err)
		}
	}
}

func TestOneAssignerServesManyGenerators(t *testing.T) {
	a := assigner.Static(5)
	for _, l := range []bitsalloc.Layout{bitsalloc.Default(), bitsalloc.Snowflake()} {
		if lease, err := a.Assign(t.Context(), domain(l)); err != nil || lease.Grant().WorkerID != 5 {
			t.Errorf("%v: %v", l, err)
		}
	}
}
