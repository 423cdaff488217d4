package storeurl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
)

// tlsConfig removes the parameters ca, cert and key from params. It returns nil if they are absent.
func tlsConfig(params url.Values) (*tls.Config, error) {
	ca, cert, key := params.Get("ca"), params.Get("cert"), params.Get("key")
	for _, name := range [...]string{"ca", "cert", "key"} {
		params.Del(name)
	}
	if ca == "" && cert == "" && key == "" {
		return nil, nil
	}
	if (cert == "") != (key == "") {
		return nil, errors.New("only one of cert and key, allowed: both or neither")
	}
	config := new(tls.Config)
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("ca: no certificate in %s, allowed: PEM", ca)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("cert and key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
