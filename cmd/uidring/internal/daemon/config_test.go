package daemon

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
)

// A worker ID that is used again begins up to two windows ahead.
func TestWindowHasADefaultAndBoundsMaxAhead(t *testing.T) {
	for _, tt := range []struct {
		url                string
		given, want, ahead time.Duration
		ok                 bool
	}{
		{"sqlite:a", 0, 5 * time.Minute, 0, true},
		{"mysql://a/b", 0, 5 * time.Minute, 10 * time.Minute, true},
		{"mysql://a/b", 0, 5 * time.Minute, 9 * time.Minute, false},
		{"mysql://a/b", time.Second, time.Second, time.Minute, true},
		{"redis://a", 0, 30 * time.Second, time.Hour, true},
		{"rediss-cluster://a", 0, 30 * time.Second, time.Hour, true},
		{"redis://a", time.Hour, time.Hour, time.Hour, false},
	} {
		cfg, _ := testConfig(t)
		cfg.StoreURL, cfg.Lease.Window, cfg.Generator.MaxAhead = tt.url, tt.given, tt.ahead
		if got, err := cfg.window(), cfg.check(); got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%s, window %v, max-ahead %v: %v, %v; want %v, allowed: %v", tt.url, tt.given, tt.ahead, got, err, tt.want, tt.ok)
		}
	}
}

func TestNewChecksLeases(t *testing.T) {
	for _, tt := range []struct {
		leases string // with commas
		change func(*Config)
		want   string // "": no error
	}{
		{"a b", nil, `leases: leasestore: namespace "a b", allowed: 1 to 64`},
		{"a,a", nil, `leases has "a" twice, allowed: once`},
		{"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", nil, "leases has 17 names, allowed: up to 16"},
		{"", func(c *Config) { c.LeaseTokenFile = c.TokenFile }, "lease-tokens without leases, allowed: both"},
		{"a", nil, "leases without lease-tokens, allowed: on an address of this host only"},
		{"a", func(c *Config) { c.TokenFile, c.Listen = "", ":0" }, "leases without lease-tokens"},
		{"test,b", func(c *Config) { c.TokenFile, c.StoreURL = "", "file://"+t.TempDir() }, `leases has "b", allowed: "test" alone`},
		{"a", func(c *Config) { c.TokenFile, c.Listen, c.Insecure = "", ":0", true }, ""},
		{"a", func(c *Config) { c.LeaseTokenFile = c.TokenFile }, ""},
		{"a", func(c *Config) { c.TokenFile = "" }, ""},
	} {
		cfg, _ := testConfig(t)
		cfg.TokenFile = filepath.Join(t.TempDir(), "tokens")
		write(t, cfg.TokenFile, "edge "+leaseToken)
		cfg.Leases = strings.FieldsFunc(tt.leases, func(r rune) bool { return r == ',' })
		if tt.change != nil {
			tt.change(&cfg)
		}
		s, err := New(cfg)
		if err == nil {
			s.closeStore()
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("leases %s: New: %v, want %q", tt.leases, err, tt.want)
		}
	}
}

func TestNewReportsAllMistakesAtOnce(t *testing.T) {
	dir := t.TempDir()
	_, err := New(Config{
		Settings:  httpapi.Settings{Listen: "0.0.0.0:1", AllowedHosts: []string{"http://ids"}, Burst: -1, Rate: -1, Logger: slog.New(slog.DiscardHandler)},
		CertFile:  filepath.Join(dir, "cert.pem"),
		TokenFile: filepath.Join(dir, "tokens"),
		StoreURL:  "oracle://ids:geheim@db/ids",
		Namespace: "a b",
		Drain:     -time.Second,
		Segments:  append(strings.Split(strings.Repeat("orders,", 62), ","), "a b", "invoices"),
		Generator: cached.Config{Layout: bitsalloc.Layout{DeltaBits: 60, WorkerBits: 60}, MaxAhead: -time.Second, DatacenterID: -1},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"tls-cert \"" + filepath.Join(dir, "cert.pem") + "\" and tls-key \"\"",
		`allowed-host "http://ids", allowed: names`,
		`admin-listen "", allowed`, "max-connections 0", "burst -1", "rate -1", "drain -1s",
		"DeltaBits 60", "max-ahead -1s, allowed", "datacenter -1, allowed", "tokens: open " + filepath.Join(dir, "tokens"), "store: ",
		`"a b", allowed: 1 to 64`, `"", allowed: 1 to 64`, `segments has "orders" twice, allowed: once`, "segments has 65 names, allowed: up to 64",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not reported: %q", want)
		}
	}
	for _, field := range []string{"MaxAhead", "DatacenterID", "Assigner"} {
		if strings.Contains(err.Error(), field) {
			t.Errorf("%s is no setting", field)
		}
	}
	if strings.Contains(err.Error(), "geheim") {
		t.Error("the password is in the error")
	}
	if !errors.Is(err, bitsalloc.ErrInvalidLayout) {
		t.Errorf("wrapped: %v", err)
	}
	t.Log(err)
}
