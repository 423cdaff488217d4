package storeurl

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// secured removes the parameters tls, ca, cert and key from a URL, and returns the TLS
// configuration that they describe. It returns nil if they are absent. Other parameters than these
// and the allowed ones are rejected.
func secured(u *url.URL, allowed ...string) (*tls.Config, error) {
	if err := checkParams(u, append(allowed, "tls", "ca", "cert", "key")...); err != nil {
		return nil, err
	}
	config, err := tlsConfig(u)
	if err != nil {
		return nil, err
	}
	params := u.Query()
	given := params.Get("tls")
	params.Del("tls")
	u.RawQuery = params.Encode()
	switch {
	case given != "" && given != "true":
		return nil, fmt.Errorf("tls=%q, allowed: true", given)
	case given == "true" && config == nil:
		return &tls.Config{}, nil
	}
	return config, nil
}

// checkParams rejects the parameters of a URL that are not allowed.
func checkParams(u *url.URL, allowed ...string) error {
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(u.Query())), func(name string) bool { return slices.Contains(allowed, name) })
	if len(unknown) == 0 {
		return nil
	}
	return fmt.Errorf("parameters %s, allowed: %s", strings.Join(unknown, ", "), cmp.Or(strings.Join(allowed, ", "), "none"))
}

// pathName returns the path of a URL, which is a single name.
func pathName(u *url.URL, what string) (string, error) {
	name := strings.Trim(u.Path, "/")
	if name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("path %q, allowed: / and the name of %s", u.Path, what)
	}
	return name, nil
}

// noUser rejects a URL with a user. instead says where the credentials come from.
func noUser(u *url.URL, instead string) error {
	if u.User != nil {
		return errors.New("a user, allowed: none; credentials come from " + instead)
	}
	return nil
}

// allOf joins errors on one line.
func allOf(errs ...error) error {
	if err := errors.Join(errs...); err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}
