package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// A guard refuses requests that the pages of other sites make browsers send: a page may send any
// request without reading the answer, and reads answers once its own name leads to the address of
// the server (DNS rebinding).
type guard struct {
	names   map[string]bool // of the server, in lower case
	any     bool            // any name is the server's
	always  bool            // names are checked with tokens, too
	local   bool            // the server listens on a loopback address
	origins *http.CrossOriginProtection
	refused episode // of unknown hosts
}

var hostName = regexp.MustCompile(`^[0-9A-Za-z]([0-9A-Za-z._-]*[0-9A-Za-z])?$`)

// newGuard returns the guard of a listener.
func newGuard(cfg Config, address string) *guard {
	g := &guard{names: map[string]bool{"localhost": true}, origins: http.NewCrossOriginProtection(), always: len(cfg.AllowedHosts) > 0}
	for _, name := range cfg.AllowedHosts {
		g.names[strings.ToLower(name)] = true
	}
	g.any = g.names["*"]
	if host, _, err := net.SplitHostPort(address); err == nil && host != "" {
		ip, err := netip.ParseAddr(host)
		g.local = err == nil && ip.IsLoopback() || host == "localhost"
		g.names[strings.ToLower(host)] = err != nil
	}
	g.names[address] = g.knows(address) // most requests name it: one look-up
	return g
}

// knows reports whether the header Host is a name of the server or an address. An address in the
// URL proves that no name was rebound. Browsers send neither Origin nor Sec-Fetch-Site to
// addresses that they take for untrustworthy, such as 0.0.0.0 and [::ffff:127.0.0.1], although
// these lead to the server: the guard refuses them, and on a loopback listener all addresses that
// are not loopback. Requests of HTTP/1.0 have no Host; browsers always send it.
func (g *guard) knows(host string) bool {
	if g.any || host == "" || g.names[host] {
		return true
	}
	name := hostOf(host)
	if ip, err := netip.ParseAddr(name); err == nil {
		return g.names[name] || !ip.IsUnspecified() && !ip.Is4In6() && (!g.local || ip.IsLoopback())
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return g.names[name] || strings.HasSuffix(name, ".localhost")
}

// hostOf returns the name or address of a header Host, without its port.
func hostOf(host string) string { return (&url.URL{Host: host}).Hostname() }

// check returns the problem of a request that a page of another site may have caused. Links from
// other sites may lead to the page of the service, which changes nothing.
func (g *guard) check(s *Server, r *http.Request) *problem {
	if (g.always || s.clients.tokens().Len() == 0) && !g.knows(r.Host) {
		if g.refused.begins() {
			s.cfg.Logger.Warn("requests are refused: their Host is no name of this server", "host", excerpt(r.Host), "remote", r.RemoteAddr,
				"setting", "allowed-host")
		}
		return unknownHost.because("The server has no name %q. Its operator can add it with allowed-host.", excerpt(r.Host))
	}
	if r.Header["Sec-Fetch-Site"] == nil && r.Header["Origin"] == nil { // no browser
		return nil
	}
	if r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
		return nil
	}
	checked := *r
	checked.Method = http.MethodPost // CrossOriginProtection allows GET, which draws IDs here
	if g.origins.Check(&checked) != nil {
		return crossSite
	}
	return nil
}

// Values of headers, allocated once.
var (
	noStore    = []string{"no-store"}
	noSniff    = []string{"nosniff"}
	sameOrigin = []string{"same-origin"}
	oneYear    = []string{"max-age=31536000"}
	types      = map[string][]string{typeJSON: {typeJSON}, typeText: {typeText}}
)

// setHeaders sets the headers that every answer has; a handler may replace Cache-Control. Over TLS
// it asks browsers to use nothing else, except on localhost, whose other ports have other servers.
func setHeaders(h http.Header, r *http.Request) {
	h["Cache-Control"] = noStore
	if r.TLS != nil && hostOf(r.Host) != "localhost" {
		h["Strict-Transport-Security"] = oneYear
	}
}

// setIsolation forbids browsers to guess another type of the answer, and to show it to the pages of
// other sites. Answers with IDs go without: their type is declared, their text is digits for any
// request, and an ID is no secret. The two headers would cost 2 % of a request for an ID.
func setIsolation(h http.Header) {
	h["X-Content-Type-Options"] = noSniff
	h["Cross-Origin-Resource-Policy"] = sameOrigin
}
