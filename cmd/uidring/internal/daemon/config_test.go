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
)

func TestMistakesAreReportedAllAtOnce(t *testing.T) {
	dir := t.TempDir()
	_, err := New(Config{
		Listen: "0.0.0.0:1", AllowedHosts: []string{"http://ids"},
		CertFile:  filepath.Join(dir, "cert.pem"),
		TokenFile: filepath.Join(dir, "tokens"),
		MinTLS:    0x0301,
		MaxBatch:  200_000,
		Burst:     -1,
		Rate:      -1,
		StoreURL:  "oracle://ids:geheim@db/ids",
		Namespace: "a b",
		Drain:     -time.Second,
		Generator: cached.Config{Layout: bitsalloc.Layout{DeltaBits: 60, WorkerBits: 60}, BoostPower: 99, MaxAhead: -time.Second, DatacenterID: -1},
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"tls-cert \"" + filepath.Join(dir, "cert.pem") + "\" and tls-key \"\"",
		"tls-min TLS 1.0, allowed: 1.2, 1.3", `allowed-host "http://ids", allowed: names`,
		"max-connections 0", "max-requests 0", "max-batch 200000", "burst -1", "rate -1", "drain -1s", "grace 0s",
		"DeltaBits 60", "boost-power 99, allowed: 1 to 20", "max-ahead -1s, allowed", "datacenter -1, allowed", "tokens: open " + filepath.Join(dir, "tokens"), "store: ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not reported: %q", want)
		}
	}
	for _, field := range []string{"BoostPower", "MaxAhead", "DatacenterID", "Assigner"} {
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
