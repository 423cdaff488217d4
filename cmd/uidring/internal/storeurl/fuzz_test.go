package storeurl_test

import (
	"strings"
	"testing"

	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
)

// FuzzOpenShowsNoPassword: no error and no name contains the password, even if characters around it
// are not escaped.
func FuzzOpenShowsNoPassword(f *testing.F) {
	for _, seed := range [][3]string{
		{"", "", "/db"}, {"/", "", "/db?timeout=1s"}, {"1?", "#", ""}, {"@x:1/", "", "/db"}, {"%", "", "/0"},
		{"1#", "@", "/db?tls=x"}, {"[", "]", ":x/db"}, {"", "%40:", "/0?db=x"}, {"@/:1x", "", "/db"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	const password = "sesame"
	f.Fuzz(func(t *testing.T, before, after, rest string) {
		if strings.Contains(strings.ToLower(before+after+rest), "sesame") {
			t.Skip()
		}
		for _, scheme := range append(storeurl.Schemes(), "ftp") {
			if scheme == "etcd" || scheme == "nats" || scheme == "zookeeper" { // Open would call a server
				continue
			}
			s, err := storeurl.Open(scheme+"://ids:"+before+password+after+"@127.0.0.1"+rest, "orders")
			text := ""
			if err != nil {
				text = err.Error()
			} else {
				text = s.String()
				_ = s.Close()
			}
			if strings.Contains(strings.ToLower(text), password) {
				t.Errorf("%q, %q, %q with %s: %s", before, after, rest, scheme, text)
			}
		}
	})
}
