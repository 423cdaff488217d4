package daemon

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// newCertificate returns a certificate of two PEM files: the first has the certificate and its
// chain, the second the key.
func newCertificate(cert, key string) *watchedFile[tls.Certificate] {
	return &watchedFile[tls.Certificate]{
		name:   "certificate",
		files:  []string{cert, key},
		secret: key,
		parse: func(contents [][]byte) (tls.Certificate, error) {
			pair, err := tls.X509KeyPair(contents[0], contents[1])
			if err != nil {
				return pair, fmt.Errorf("tls-cert %s, tls-key %s: %w", cert, key, err)
			}
			if end := pair.Leaf.NotAfter; time.Now().After(end) {
				return pair, fmt.Errorf("tls-cert %s: expired at %s, allowed: a valid certificate", cert, end.UTC().Format(time.RFC3339))
			}
			return pair, nil
		},
		describe: func(_ *tls.Certificate, pair tls.Certificate) string {
			return fmt.Sprintf("%s, until %s", pair.Leaf.Subject, pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
		},
	}
}

// expiry is a metric of the certificate in use.
func expiry(certificate *watchedFile[tls.Certificate]) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "uidring_certificate_expires_timestamp_seconds",
		Help: "When the certificate in use expires, in seconds since 1970.",
	}, func() float64 { return float64(certificate.current().Leaf.NotAfter.Unix()) })
}

// cipherSuites of TLS 1.2 are the suites with forward secrecy and authenticated encryption. All
// suites of TLS 1.3 have both.
var cipherSuites = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

// tlsConfig presents the current certificate to each client.
func tlsConfig(certificate *watchedFile[tls.Certificate]) *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		CipherSuites: cipherSuites,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if c := certificate.current(); c != nil {
				return c, nil
			}
			return nil, errors.New("daemon: no certificate")
		},
	}
}
