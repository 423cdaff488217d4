package cli

import (
	"strings"
	"testing"
)

func TestFoldersOfDataAndOfKnownStores(t *testing.T) {
	for _, tt := range []struct {
		name        string
		env         map[string]string
		data, known string
	}{
		{"systemd, with one", map[string]string{"STATE_DIRECTORY": "/var/lib/uidring", "XDG_DATA_HOME": "/x", "XDG_STATE_HOME": "/y", "HOME": "/h"}, "/var/lib/uidring", ""},
		{"systemd, with two", map[string]string{"STATE_DIRECTORY": "/var/lib/uidring:/var/lib/known", "HOME": "/h"}, "/var/lib/uidring", "/var/lib/known"},
		{"XDG", map[string]string{"XDG_DATA_HOME": "/x", "XDG_STATE_HOME": "/y", "HOME": "/h"}, "/x/uidring", "/y/uidring"},
		{"XDG, relative, which its specification has ignored", map[string]string{"XDG_DATA_HOME": "x", "XDG_STATE_HOME": "y", "HOME": "/h"},
			"/h/.local/share/uidring", "/h/.local/state/uidring"},
		{"home", map[string]string{"HOME": "/h"}, "/h/.local/share/uidring", "/h/.local/state/uidring"},
		{"a space", map[string]string{"STATE_DIRECTORY": "/my ids"}, "/my ids", ""},
		{"nothing", nil, "", ""},
	} {
		env := func(name string) string { return tt.env[name] }
		if data, known := dataFolder(env), knownFolder(env); data != tt.data || known != tt.known {
			t.Errorf("%s: %q and %q, want %q and %q", tt.name, data, known, tt.data, tt.known)
		}
		url, err := dataURL(tt.data)
		if want := "sqlite://" + strings.ReplaceAll(tt.data, " ", "%20") + "/uidring.db"; (err == nil) != (tt.data != "") || err == nil && url != want {
			t.Errorf("%s: %q, %v, want %q", tt.name, url, err, want)
		}
	}
}
