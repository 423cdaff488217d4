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
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/testkit/poll"
)

// pemPair is a certificate that signs itself, with its key.
func pemPair(t *testing.T, serial int64, end time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}))
}

// trusting is a configuration of clients that trust certificates.
func trusting(certs string) *tls.Config {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(certs))
	return &tls.Config{RootCAs: pool}
}

// encrypt gives a service a certificate, and returns the configuration of its clients.
func encrypt(t *testing.T, cfg *Config) *tls.Config {
	t.Helper()
	dir := t.TempDir()
	cert, key := pemPair(t, 1, time.Now().Add(time.Hour))
	cfg.CertFile, cfg.KeyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, cfg.CertFile, cert)
	write(t, cfg.KeyFile, key)
	return trusting(cert)
}

// replace puts a file in the place of another at once.
func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+".new", text)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// load sends requests without a pause until the test calls the func that it returns, which says how
// many there were. Each has to succeed.
func load(t *testing.T, request func() error) (end func() int64) {
	t.Helper()
	var done atomic.Bool
	var count atomic.Int64
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for !done.Load() {
				if err := request(); err != nil {
					t.Error(err)
					return
				}
				count.Add(1)
			}
		})
	}
	return func() int64 {
		done.Store(true)
		group.Wait()
		return count.Load()
	}
}

func TestCertificateIsReplacedUnderLoad(t *testing.T) {
	dir, later := t.TempDir(), time.Now().Add(time.Hour)
	cert1, key1 := pemPair(t, 1, later)
	cert2, key2 := pemPair(t, 2, later)
	expired, expiredKey := pemPair(t, 3, time.Now().Add(-time.Hour))
	cfg, log := testConfig(t)
	cfg.CertFile, cfg.KeyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write(t, cfg.CertFile, cert1)
	write(t, cfg.KeyFile, key1)
	r := ready(t, cfg, log)

	trust := trusting(cert1 + cert2 + expired)
	var serial atomic.Int64
	handshake := func() error {
		conn, err := tls.Dial("tcp", r.address, trust)
		if err != nil {
			return err
		}
		serial.Store(conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64())
		return conn.Close()
	}
	if page := r.log.find("ready")["page"]; page != "https://"+r.admin+"/" {
		t.Errorf("page %v", page)
	}
	endHandshakes := load(t, handshake)
	kept := clients(t, trust)
	var endRequests []func() int64
	for version, client := range kept {
		endRequests = append(endRequests, load(t, func() error {
			answer, err := client.Get("https://" + r.address + "/v1/id")
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusOK || answer.Proto != version {
				return fmt.Errorf("%s: %s in %s", version, answer.Status, answer.Proto)
			}
			return nil
		}))
	}
	becomes := func(want int64) {
		t.Helper()
		poll.Until(t, fmt.Sprint("certificate ", want), func() bool { return serial.Load() == want })
	}
	refused := func(want string) {
		t.Helper()
		poll.Until(t, want, func() bool {
			record := log.find("certificate not loaded, the old contents stay in use")
			return record != nil && strings.Contains(record["error"].(string), want)
		})
	}
	becomes(1)
	replace(t, cfg.CertFile, cert2) // the key still belongs to the other certificate
	refused("private key does not match")
	becomes(1)
	replace(t, cfg.KeyFile, key2)
	becomes(2)
	replace(t, cfg.CertFile, "no certificate")
	refused("failed to find any PEM data")
	replace(t, cfg.KeyFile, expiredKey)
	replace(t, cfg.CertFile, expired)
	refused("expired at")
	becomes(2)
	replace(t, cfg.CertFile, cert1)
	replace(t, cfg.KeyFile, key1)
	becomes(1)
	n := endHandshakes()
	for _, end := range endRequests {
		n += end()
	}
	t.Logf("%d requests and handshakes, none failed", n)
}

// TLS 1.1 has no safe suite, and suites with CBC have a history of padding oracles.
func TestTLSIsSafe(t *testing.T) {
	cfg, log := testConfig(t)
	config := encrypt(t, &cfg)
	config.MinVersion = tls.VersionTLS10
	r := ready(t, cfg, log)
	agreed := 0
	dial := func(name string, safe bool) {
		t.Helper()
		conn, err := tls.Dial("tcp", r.address, config)
		if (err == nil) != safe {
			t.Errorf("%s: %v, want agreed: %v", name, err, safe)
		}
		if err == nil {
			agreed++
			_ = conn.Close()
		}
	}
	for _, version := range []uint16{tls.VersionTLS13, tls.VersionTLS11} {
		config.MaxVersion = version
		dial(tls.VersionName(version), version == tls.VersionTLS13)
	}
	config.MaxVersion = tls.VersionTLS12
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		if strings.Contains(suite.Name, "ECDHE_ECDSA") { // the key of the certificate
			config.CipherSuites = []uint16{suite.ID}
			dial(suite.Name, strings.Contains(suite.Name, "GCM") || strings.Contains(suite.Name, "CHACHA20"))
		}
	}
	if agreed != 4 {
		t.Errorf("%d handshakes succeeded, want 1 with TLS 1.3 and 3 suites of TLS 1.2", agreed)
	}
}
