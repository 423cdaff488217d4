package storeurl_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// newPKI returns a PEM file with an authority, which is a certificate for 127.0.0.1 by itself, and
// with its key.
func newPKI(t *testing.T) string {
	t.Helper()
	cert, key := testserver.Certificate(t, 1, time.Now().Add(time.Hour))
	file := filepath.Join(t.TempDir(), "pki.pem")
	testkit.Must(t, os.WriteFile(file, []byte(cert+key), 0o600))
	return file
}

// files returns the parameters of a URL with all files of a PKI.
func files(pki string) string { return url.Values{"ca": {pki}, "cert": {pki}, "key": {pki}}.Encode() }

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
func wantConnections(t *testing.T, pki, plain string) {
	t.Helper()
	secure := plain + "?tls=true"
	if err := connects(t, secure+"&"+files(pki)); err != nil {
		t.Error(err)
	}
	for name, url := range map[string]string{
		"without TLS":                  plain,
		"with the system's authority":  secure,
		"with another one's authority": secure + "&ca=" + newPKI(t),
	} {
		if err := connects(t, url); err == nil {
			t.Errorf("%s: connected", name)
		}
	}
}

func TestTLSOfMySQL(t *testing.T) {
	t.Parallel()
	pki := newPKI(t)
	server, _ := withUser(t, testserver.MySQL(t, "--ssl-cert="+pki, "--ssl-key="+pki, "--ssl-ca="+pki), "REQUIRE X509")
	wantConnections(t, pki, "mysql://ids@"+server.Addr()+"/uidring")
}

func TestTLSOfNATS(t *testing.T) {
	t.Parallel()
	pki := newPKI(t)
	base := "nats://" + testserver.NATS(t, "--tlsverify", "--tlscert", pki, "--tlskey", pki, "--tlscacert", pki).Addr() + "/ids"
	_, err := open(t, base+"?replicas=1&"+files(pki), "orders").Create(t.Context())
	testkit.Must(t, err)
	wantConnections(t, pki, base)
}

// These clients begin with the handshake of TLS, with the certificates of the URL.
func TestTLSFromTheFirstByte(t *testing.T) {
	t.Parallel()
	own, other := newPKI(t), newPKI(t)
	const want = "ca, cert or key without TLS, allowed: with rediss://"
	if _, err := storeurl.Open("redis://h/0?ca="+own, "orders"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("redis with an authority: %v, want %s", err, want)
	}
	for _, tt := range []struct{ plain, secure string }{
		{"redis://%s/0?max_retries=-1", "rediss://%s/0?max_retries=-1&"},
		{"etcd://%s", "etcd://%s?tls=true&"},
		{"zookeeper://%s", "zookeeper://%s?tls=true&"},
		{"http://%s", "https://%s?"},
	} {
		if err := handshake(t, own, tt.secure+files(own)); err != nil {
			t.Errorf("%s: %v", tt.secure, err)
		}
		for name, text := range map[string]string{
			"without TLS":                 tt.plain,
			"with the system's authority": tt.secure + url.Values{"cert": {own}, "key": {own}}.Encode(),
			"with another authority":      tt.secure + url.Values{"ca": {other}, "cert": {own}, "key": {own}}.Encode(),
			"without a certificate":       tt.secure + "ca=" + own,
		} {
			if err := handshake(t, own, text); err == nil {
				t.Errorf("%s %s: connected", tt.secure, name)
			}
		}
	}
}

// handshake returns the result of the first handshake of a store with a server, which asks for a
// certificate. The URL has %s for its address.
func handshake(t *testing.T, pki, format string) error {
	t.Helper()
	pair, errPair := tls.LoadX509KeyPair(pki, pki)
	ca, err := os.ReadFile(pki)
	testkit.Must(t, errors.Join(err, errPair))
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(ca)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
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
