package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/poll"
)

// pemPair is a certificate that signs itself, with its key.
func pemPair(t *testing.T, serial int64, end time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(serial),
		Subject:               pkix.Name{CommonName: fmt.Sprint("certificate ", serial)},
		NotBefore:             time.Now().Add(-2 * time.Hour),
		NotAfter:              end,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

// trusting is a configuration of clients that trust certificates.
func trusting(certs string) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(certs))
	return &tls.Config{RootCAs: pool}
}

// replace puts a file in the place of another at once.
func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+".new", text)
	must(t, os.Rename(path+".new", path))
}

// certificateFiles gives a service a certificate and its key.
func certificateFiles(t *testing.T, cfg *Config, cert, key string) {
	dir := t.TempDir()
	cfg.CertFile, cfg.KeyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write(t, cfg.CertFile, cert)
	write(t, cfg.KeyFile, key)
}

func TestCertificateIsReplacedUnderLoad(t *testing.T) {
	later := time.Now().Add(time.Hour)
	cert1, key1 := pemPair(t, 1, later)
	cert2, key2 := pemPair(t, 2, later)
	expired, expiredKey := pemPair(t, 3, time.Now().Add(-time.Hour))
	cfg, log := testConfig(t)
	certificateFiles(t, &cfg, cert1, key1)
	r := ready(t, cfg, log)
	if page := log.find("ready")["page"]; page != "https://"+r.admin+"/" {
		t.Errorf("page %v", page)
	}
	trust := trusting(cert1 + cert2 + expired)
	var serial atomic.Int64
	var ended atomic.Bool
	var group sync.WaitGroup
	load := func(request func() error) {
		group.Go(func() {
			for !ended.Load() && !t.Failed() {
				if err := request(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	defer group.Wait()
	defer ended.Store(true)
	load(func() error {
		conn, err := tls.Dial("tcp", r.address, trust)
		if err != nil {
			return err
		}
		serial.Store(conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64())
		return conn.Close()
	})
	for _, client := range clients(t, trust) { // on connections that are kept
		load(func() error { _, err := fetch(t.Context(), client, "https://"+r.address, 1); return err })
	}
	for _, step := range []struct {
		cert, key, refused string
		serial             int64
	}{
		{cert2, key1, "private key does not match", 1},
		{cert2, key2, "", 2},
		{"no certificate", key2, "failed to find any PEM data", 2},
		{expired, expiredKey, "expired at", 2},
		{cert1, key1, "", 1},
	} {
		replace(t, cfg.CertFile, step.cert)
		replace(t, cfg.KeyFile, step.key)
		poll.Until(t, step.refused, func() bool {
			record := log.find("certificate not loaded, the old contents stay in use")
			return step.refused == "" || record != nil && strings.Contains(record["error"].(string), step.refused)
		})
		poll.Until(t, fmt.Sprint("certificate ", step.serial), func() bool { return serial.Load() == step.serial || t.Failed() })
	}
}

// TLS 1.1 has no safe suite, and suites with CBC have a history of padding oracles.
func TestTLSAgreesToSafeSuitesOnly(t *testing.T) {
	cfg, log := testConfig(t)
	cert, key := pemPair(t, 1, time.Now().Add(time.Hour))
	certificateFiles(t, &cfg, cert, key)
	r := ready(t, cfg, log)
	agreed := map[string]bool{}
	dial := func(name string, version uint16, suites ...uint16) {
		config := trusting(cert)
		config.MinVersion, config.MaxVersion, config.CipherSuites = version, version, suites
		if conn, err := tls.Dial("tcp", r.address, config); err == nil {
			agreed[name] = true
			_ = conn.Close()
		}
	}
	dial("1.1", tls.VersionTLS11)
	dial("1.3", tls.VersionTLS13)
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		dial(suite.Name, tls.VersionTLS12, suite.ID)
	}
	want := map[string]bool{"1.3": true, "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": true, "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": true,
		"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": true}
	if !maps.Equal(agreed, want) {
		t.Errorf("agreed to %v, want %v", agreed, want)
	}
}
