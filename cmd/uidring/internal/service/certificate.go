package service

import (
	"crypto/tls"
	"errors"
	"fmt"
	"time"
)

// newCertificate is a certificate in two PEM files, with its chain in the first and its key in the
// second.
func newCertificate(cert, key string) *reloaded[tls.Certificate] {
	return &reloaded[tls.Certificate]{
		name:  "certificate",
		files: []string{cert, key},
		parse: func(contents [][]byte) (tls.Certificate, error) {
			pair, err := tls.X509KeyPair(contents[0], contents[1])
			if err != nil {
				return pair, fmt.Errorf("tls-cert %s, tls-key %s: %w", cert, key, err)
			}
			if end := pair.Leaf.NotAfter; time.Now().After(end) {
				return pair, fmt.Errorf("tls-cert %s: it has expired at %s", cert, end.UTC().Format(time.RFC3339))
			}
			return pair, nil
		},
		describe: func(pair tls.Certificate) string {
			return fmt.Sprintf("%s, until %s", pair.Leaf.Subject, pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
		},
	}
}

// tlsConfig shows each client the certificate that is the current one.
func tlsConfig(certificate *reloaded[tls.Certificate], lowest uint16) *tls.Config {
	return &tls.Config{
		MinVersion: lowest,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if c := certificate.current(); c != nil {
				return c, nil
			}
			return nil, errors.New("service: no certificate")
		},
	}
}
