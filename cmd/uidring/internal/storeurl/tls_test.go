package storeurl_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
	"github.com/uidring/uidring/internal/test/testserver"
)

// pki is the PEM files of an authority, and of a certificate for 127.0.0.1 by it: itself.
type pki struct{ ca, cert, key string }

func newPKI(t *testing.T) pki {
	t.Helper()
	dir := t.TempDir()
	files := pki{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "host"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	write := func(path, kind string, der []byte, err error) {
		t.Helper()
		if err == nil {
			err = os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	write(files.cert, "CERTIFICATE", der, err)
	der, err = x509.MarshalPKCS8PrivateKey(key)
	write(files.key, "PRIVATE KEY", der, err)
	return files
}

// connects opens a URL and reads from it.
func connects(t *testing.T, url string) error {
	t.Helper()
	s, err := storeurl.Open(url, "orders")
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = s.Status(t.Context())
	return err
}

// wantConnections tries a server that its own authority vouches for: with that one, with another
// one, and with the system's.
func wantConnections(t *testing.T, files pki, plain, secure string) {
	t.Helper()
	if err := connects(t, secure+url.Values{"ca": {files.ca}, "cert": {files.cert}, "key": {files.key}}.Encode()); err != nil {
		t.Error(err)
	}
	other := newPKI(t)
	for name, url := range map[string]string{
		"without TLS":                  plain,
		"with the system's authority":  strings.TrimRight(secure, "&?"),
		"with another one's authority": secure + url.Values{"ca": {other.ca}}.Encode(),
	} {
		if err := connects(t, url); err == nil {
			t.Errorf("%s: connected", name)
		}
	}
}

func TestTLSOfMySQL(t *testing.T) {
	t.Parallel()
	files := newPKI(t)
	server := testserver.MariaDB(t, "--ssl-cert="+files.cert, "--ssl-key="+files.key, "--ssl-ca="+files.ca)
	db, err := sqlassigner.OpenMySQL(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.MustExecContext(t.Context(), "CREATE USER ids@'%' REQUIRE X509")
	db.MustExecContext(t.Context(), "GRANT ALL ON uidring.* TO ids@'%'")
	base := "mysql://ids@" + server.Addr() + "/uidring"
	wantConnections(t, files, base, base+"?tls=true&")
}

func TestTLSOfNATS(t *testing.T) {
	t.Parallel()
	files := newPKI(t)
	server := testserver.NATS(t, "--tlsverify", "--tlscert", files.cert, "--tlskey", files.key, "--tlscacert", files.ca)
	base := "nats://" + server.Addr() + "/ids"
	own := base + "?replicas=1&" + url.Values{"ca": {files.ca}, "cert": {files.cert}, "key": {files.key}}.Encode()
	if err := open(t, own, "orders").Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantConnections(t, files, base, base+"?tls=true&")
}

// These clients begin with the handshake of TLS, with the certificates of the URL.
func TestTLSFromTheFirstByte(t *testing.T) {
	t.Parallel()
	own, other := newPKI(t), newPKI(t)
	for _, tt := range []struct{ plain, secure string }{
		{"redis://%s/0?max_retries=-1", "rediss://%s/0?max_retries=-1&"},
		{"redis-cluster://%s?max_retries=-1", "rediss-cluster://%s?max_retries=-1&"},
		{"etcd://%s", "etcd://%s?tls=true&"},
		{"zookeeper://%s", "zookeeper://%s?tls=true&"},
		{"http://%s", "https://%s?"},
	} {
		if err := handshake(t, own, tt.secure+url.Values{"ca": {own.ca}, "cert": {own.cert}, "key": {own.key}}.Encode()); err != nil {
			t.Errorf("%s: %v", tt.secure, err)
		}
		for name, text := range map[string]string{
			"without TLS":                 tt.plain,
			"with the system's authority": tt.secure + url.Values{"cert": {own.cert}, "key": {own.key}}.Encode(),
			"with another authority":      tt.secure + url.Values{"ca": {other.ca}, "cert": {own.cert}, "key": {own.key}}.Encode(),
			"without a certificate":       tt.secure + url.Values{"ca": {own.ca}}.Encode(),
		} {
			if err := handshake(t, own, text); err == nil {
				t.Errorf("%s %s: connected", tt.secure, name)
			}
		}
	}
}

// handshake returns the result of the first handshake of a store with a server, which asks for a
// certificate. The URL has %s for its address.
func handshake(t *testing.T, files pki, format string) error {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(files.cert, files.key)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(files.ca)
	if err != nil {
		t.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(ca)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := open(t, strings.Replace(format, "%s", l.Addr().String(), 1), "orders")
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel()
	calls.Go(func() { _, _ = s.Status(ctx) })
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	return tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert}).Handshake()
}
