package storeurl

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/remoteassigner"
)

// openRemote opens the leases that servers offer, see uidring serve --leases. The password of the
// URL is the token.
func openRemote(s *Store, u *url.URL, namespace string) error {
	config, err := tlsConfig(u)
	token, _ := u.User.Password()
	params := u.Query()
	hosts := append([]string{u.Host}, params["addr"]...) // package url rejects several in the host of an https URL
	delete(params, "addr")
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	switch {
	case err != nil:
		return err
	case config != nil && u.Scheme != "https":
		return errors.New("ca, cert or key without TLS, allowed: with https://")
	case len(params) > 0:
		return errors.New("another parameter, allowed: addr, ca, cert, key")
	case u.User != nil && (u.User.Username() != "" || token == ""):
		return errors.New("a user, allowed: a token alone, as in https://:token@host")
	}
	cfg := remoteassigner.Config{Token: token}
	for _, host := range endpoints(strings.Join(hosts, ","), port) {
		cfg.URLs = append(cfg.URLs, (&url.URL{Scheme: u.Scheme, Host: host, Path: strings.TrimSuffix(u.Path, "/")}).String())
	}
	if config != nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.TLSClientConfig = config
		transport.Protocols = new(http.Protocols) // as in the client of remoteassigner
		transport.Protocols.SetHTTP1(true)
		cfg.Client = &http.Client{Transport: transport, Timeout: 30 * time.Second}
	}
	s.Store = remoteassigner.LeaseStore(cfg, namespace)
	return nil
}
