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

// A security tells how a URL asks for TLS.
type security int

const (
	noFiles  security = iota // the URL names no certificates
	byDriver                 // by parameters of the driver
	byScheme                 // by the scheme
	byParam                  // by the parameter tls, or by certificates
)

// takeTLS removes the parameters of TLS from a URL, and returns the configuration that they
// describe: the certificates of the files ca, cert and key. It returns nil if they are absent.
func (k kind) takeTLS(u *url.URL) (*tls.Config, error) {
	if k.tls == noFiles {
		return nil, nil
	}
	params := u.Query()
	config, err := certificates(params.Get("ca"), params.Get("cert"), params.Get("key"))
	taken := []string{"ca", "cert", "key"}
	if given := params.Get("tls"); k.tls == byParam {
		taken = append(taken, "tls")
		if given != "" && given != "true" {
			return nil, fmt.Errorf("tls=%q, allowed: true", given)
		}
		if given == "true" && config == nil {
			config = new(tls.Config)
		}
	}
	if k.tls == byScheme && config != nil && !slices.Contains(k.schemes[1:], u.Scheme) {
		return nil, fmt.Errorf("ca, cert or key without TLS, allowed: with %s://", k.schemes[1])
	}
	u.RawQuery = strings.Join(slices.DeleteFunc(strings.Split(u.RawQuery, "&"), func(param string) bool {
		name, _, _ := strings.Cut(param, "=")
		return slices.Contains(taken, name)
	}), "&")
	return config, err
}

func certificates(ca, cert, key string) (*tls.Config, error) {
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
