package storeurl

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/uidring/uidring/assigner/remoteassigner"
)

// openRemote opens the leases that servers offer, see uidring serve --leases. The password of the
// URL is the token.
func openRemote(s *Store, u *url.URL, namespace string, config *tls.Config) error {
	token, _ := u.User.Password()
	if u.User != nil && (u.User.Username() != "" || token == "") {
		return errors.New("a user, allowed: a token alone, as in https://:token@host")
	}
	hosts := append([]string{u.Host}, u.Query()["addr"]...) // package url rejects several in the host of an https URL
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
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
