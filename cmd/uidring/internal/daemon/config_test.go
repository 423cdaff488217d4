package daemon

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

func TestConfigMistakes(t *testing.T) {
	dir := t.TempDir()
	tokens, others := filepath.Join(dir, "tokens"), filepath.Join(dir, "others")
	write(t, tokens, "edge "+leaseToken)
	write(t, others, "edge x"+leaseToken)
	leases := func(names string) func(*Config) {
		return func(c *Config) { c.TokenFile, c.Leases = tokens, strings.Split(names, ",") }
	}
	for _, tt := range []struct {
		change func(*Config)
		want   string // a pattern; "": no mistake
	}{
		{func(c *Config) { c.Listen = "127.9.9.9:0" }, ""},
		{func(c *Config) { c.Listen, c.AdminListen = "[::1]:8080", "localhost:8080" }, ""},
		{func(c *Config) { c.Listen = ":8080" }, "^listen :8080 can be reached from other hosts, and has no tokens.*, and no TLS"},
		{func(c *Config) { c.Listen = "[::]:8080" }, "has no tokens.*no TLS"},
		{func(c *Config) { c.AdminListen, c.TokenFile = "10.0.0.1:8081", tokens }, "^admin-listen 10.0.0.1:8081 can be reached from other hosts, and has no TLS"},
		{func(c *Config) {
			c.Listen, c.CertFile, c.KeyFile = "localhost.example.com:8080", "none.pem", "none.pem"
		}, "and has no tokens: set"},
		{func(c *Config) { c.Listen, c.Insecure = "0.0.0.0:8080", true }, ""},
		{func(c *Config) { c.Listen, c.Insecure = "8080", true }, `^listen "8080", allowed: host:port`},
		{func(c *Config) { c.AdminListen = "" }, `^admin-listen "", allowed: host:port`},
		{func(c *Config) { c.CertFile = "cert.pem" }, `^tls-cert "cert.pem" and tls-key "", allowed: both`},
		{func(c *Config) { c.AllowedHosts, c.Burst = []string{"http://ids"}, -1 }, "(?s)^allowed-host.*burst -1"},
		{func(c *Config) { c.MaxConnections, c.Drain = 0, -time.Second }, "(?s)^max-connections 0.*drain -1s"},
		{func(c *Config) { c.MaxAge = 0 }, "^max-age 0s, allowed: 1s to 1m0s in whole seconds$"},
		{func(c *Config) { c.MaxAge = 1500 * time.Millisecond }, "^max-age 1.5s, allowed: "},
		{func(c *Config) { c.MaxAge = 61 * time.Second }, "^max-age 1m1s, allowed: "},
		{func(c *Config) { c.MaxAge = time.Second }, ""},
		{func(c *Config) { c.TokenFile = filepath.Join(dir, "none") }, "^tokens: open "},
		{func(c *Config) { c.StoreURL = "oracle://ids:geheim@db/ids" }, "^store: [^@]*$"},
		{func(c *Config) { c.Generator.Layout = bitsalloc.Layout{DeltaBits: 60, WorkerBits: 60} }, "DeltaBits 60"},
		{func(c *Config) { c.Generator.DatacenterID, c.Generator.MaxAhead = -1, -time.Second }, "(?s)max-ahead -1s with window 2m0s, allowed: .*DatacenterID -1, allowed: "},
		{func(c *Config) { c.Segments = strings.Split(strings.Repeat("a,", 64)+"b c", ",") },
			`(?s)^segments has 65 names, allowed: up to 64.*segments has "a" twice, allowed: once.*"b c", allowed: 1 to 64`},
		// A worker ID that is used again begins up to two windows ahead.
		{func(c *Config) { c.Generator.MaxAhead = 4 * time.Minute }, ""},
		{func(c *Config) { c.Generator.MaxAhead = 3 * time.Minute }, "^max-ahead 3m0s with window 2m0s, allowed: "},
		{func(c *Config) { c.Lease.Window, c.Generator.MaxAhead = time.Second, 2*time.Second }, ""},
		{leases("a b"), `^leases: leasestore: namespace "a b", allowed: 1 to 64`},
		{leases("a"), "^leases without lease-tokens, allowed: on an address of this host only"},
		{func(c *Config) { c.LeaseTokenFile = tokens }, "^lease-tokens without leases, allowed: both"},
		{func(c *Config) { leases("a")(c); c.LeaseTokenFile = others }, ""},
		{func(c *Config) { leases("a")(c); c.LeaseTokenFile = tokens }, "^tokens and lease-tokens share a token, allowed: different ones"},
		{func(c *Config) { c.Leases = []string{"a"} }, ""},
		{func(c *Config) { c.Leases, c.Listen, c.Insecure = []string{"a"}, ":0", true }, ""},
		{func(c *Config) { c.Leases, c.StoreURL = []string{"test", "b"}, "file://"+dir }, `^leases has "b", allowed: "test" alone`},
	} {
		cfg, _ := testConfig(t)
		tt.change(&cfg)
		s, err := New(cfg)
		if err == nil {
			s.closeStore()
		}
		if (err == nil) != (tt.want == "") || err != nil && !regexp.MustCompile(tt.want).MatchString(err.Error()) {
			t.Errorf("New: %v, want %q", err, tt.want)
		}
	}
}
