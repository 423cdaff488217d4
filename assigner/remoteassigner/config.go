package remoteassigner

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/httpcall"
	"github.com/uidring/uidring/internal/storecall"
)

// ErrUnreachable is in the error of a call without an answer of the server's store: the
// connection failed or was cut, or the server is starting, ending or overloaded. A swap with this
// error may have taken effect.
var ErrUnreachable error = storecall.Away{Err: errors.New("remoteassigner: the server is unreachable")}

// A Config says how to reach the servers. The zero value sends no token.
type Config struct {
	// Token is sent with each request. Empty: none, for a server that requires none. It is sent to
	// the given servers only, without encryption if a URL is http.
	Token string
	// Client sends the requests. Its redirects are not followed. It must not send a request again
	// after an error, see the package comment. Nil: a client with HTTP/1.1, a limit of 30 s for a
	// call, the proxy of the environment and the certificate authorities of the system.
	Client *http.Client
}

// check returns all mistakes in the arguments of LeaseStore.
func check(urls []string, namespace, token string) error {
	errs := []error{leasestore.CheckNamespace(namespace)}
	if len(urls) == 0 {
		errs = append(errs, errors.New("remoteassigner: urls is empty, allowed: the address of a server or more"))
	}
	for _, text := range urls {
		if err := httpcall.CheckURL(text); err != nil {
			errs = append(errs, fmt.Errorf("remoteassigner: %w", err))
		}
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		errs = append(errs, errors.New("remoteassigner: Token (not shown), allowed: printable ASCII without spaces"))
	}
	return errors.Join(errs...)
}
