package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
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

// Programs that read the log could not tell nanoseconds from seconds.
func TestDurationsInTheLogHaveAUnit(t *testing.T) {
	var log bytes.Buffer
	f := serveFlags{logFormat: "json"}
	f.logger(&log).Info("stopping", "drain", 90*time.Second)
	if want := `"drain":"1m30s"`; !strings.Contains(log.String(), want) {
		t.Errorf("%s, want %s in it", &log, want)
	}
}

func TestServeRefusesMistakesAsUsage(t *testing.T) {
	t.Setenv("UIDRING_STORE", "mysql://ids:geheim@db")
	var log bytes.Buffer
	code := Main([]string{"serve", "--listen=:0", "--burst=-1", "--tls-cert=a.pem", "--data=/ids", "--log-format=xml"}, strings.NewReader(""), io.Discard, &log)
	if code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	text := log.String()
	for _, want := range []string{"listen :0", "burst -1", "tls-cert", "database", "data and store, allowed: one of them", `log-format "xml"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	if strings.Count(text, "\n") != 1 || strings.Contains(text, "geheim") {
		t.Errorf("want one line without the password, got %s", text)
	}
}

func TestServeEndsAsUsageWhereTheStoreHasAnotherLayout(t *testing.T) {
	url := sqlite(t)
	generator(t, url, "holder", time.Minute)
	code, _, stderr := run(t, "", "serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0")
	if code != exitUsage || !strings.Contains(stderr, "layout mismatch") {
		t.Errorf("exit code %d, want %d: %s", code, exitUsage, stderr)
	}
	if want := ` msg=settings listen=127.0.0.1:0 admin-listen=127.0.0.1:0 store="(not shown)" namespace=orders` + "\n"; !strings.Contains(stderr, want) {
		t.Errorf("%s, want %s in it, without the URL, which may hold a password", stderr, want)
	}
}
