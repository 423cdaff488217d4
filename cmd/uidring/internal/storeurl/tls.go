package storeurl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
)

// tlsConfig removes the parameters ca, cert and key from a URL, and returns the certificates that
// they name. It returns nil if they are absent.
func tlsConfig(u *url.URL) (*tls.Config, error) {
	params := u.Query()
	ca, cert, key := params.Get("ca"), params.Get("cert"), params.Get("key")
	others := slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(param string) bool {
		name, _, _ := strings.Cut(param, "=")
		return name == "ca" || name == "cert" || name == "key"
	})
	u.RawQuery = strings.Join(others, "&")
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
