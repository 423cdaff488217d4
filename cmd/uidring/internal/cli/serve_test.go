package cli

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// serveCommand returns the command with parsed arguments, and the values of its flags.
func serveCommand(t *testing.T, args ...string) (*cobra.Command, *serveFlags) {
	t.Helper()
	cmd, f := newServeCommand(&streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return cmd, f
}

func TestMistakesInSettingsAreReportedAllAtOnce(t *testing.T) {
	mistakes := map[string]struct{ value, want string }{
		"UIDRING_RATE": {"many", `"many", allowed: a number`}, "UIDRING_WINDOW": {"30", `"30", allowed: a number with a unit`},
		"UIDRING_LAYOUT": {"1/2", `"1/2": `}, "UIDRING_EPOCH": {"yesterday", `"yesterday": `},
		"UIDRING_BURST": {"x", `"x", allowed: a whole number`}, "UIDRING_LOG_FORMAT": {"xml", `"xml": allowed: text, json`},
	}
	for name, tt := range mistakes {
		t.Setenv(name, tt.value)
	}
	cmd, _ := serveCommand(t)
	_, err := resolve(cmd.Flags())
	for name, tt := range mistakes {
		if err == nil || !strings.Contains(err.Error(), name+" "+tt.want) {
			t.Errorf("%v\nwant %s %s in it", err, name, tt.want)
		}
	}
}

func TestSettingsAreLoggedWithoutSecrets(t *testing.T) {
	t.Setenv("UIDRING_STORE", "mysql://ids:geheim@db/ids")
	cmd, _ := serveCommand(t, "--tokens=/etc/uidring/tokens")
	settings, err := resolve(cmd.Flags())
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	logSettings(slog.New(slog.NewTextHandler(&log, nil)), settings)
	for _, want := range []string{"from=flag tokens=/etc/uidring/tokens\n", "from=environment store=\"(not shown)\"\n"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in\n%s", want, &log)
		}
	}
	if strings.Contains(log.String(), "geheim") || strings.Contains(log.String(), "drain") {
		t.Errorf("the password or a default is in\n%s", &log)
	}
}

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
		{"nothing", nil, "", ""},
	} {
		env := func(name string) string { return tt.env[name] }
		if data, known := dataFolder(env), knownFolder(env); data != tt.data || known != tt.known {
			t.Errorf("%s: %q and %q, want %q and %q", tt.name, data, known, tt.data, tt.known)
		}
	}
}

// Programs that read the log could not tell nanoseconds from seconds.
func TestDurationsInTheLogHaveAUnit(t *testing.T) {
	var log bytes.Buffer
	f := serveFlags{logFormat: choice{value: "json"}}
	f.logger(&log).Info("stopping", "drain", 90*time.Second)
	if want := `"drain":"1m30s"`; !strings.Contains(log.String(), want) {
		t.Errorf("%s, want %s in it", &log, want)
	}
}

func TestServeFinishesStoreAndSegments(t *testing.T) {
	for _, tt := range []struct {
		args     []string
		store    string // the URL; "": an error
		segments []string
	}{
		{[]string{"--data=/var/lib/ids"}, "sqlite:///var/lib/ids/uidring.db", nil},
		{[]string{"--data=/var/lib/my ids", "--segments="}, "sqlite:///var/lib/my%20ids/uidring.db", nil},
		{[]string{"--store=redis://localhost/0", "--segments=orders"}, "redis://localhost/0", []string{"orders"}},
		{[]string{"--store=redis://localhost/0", "--segments=orders,invoices,"}, "redis://localhost/0", []string{"orders", "invoices", ""}},
		{[]string{"--store=redis://localhost/0", "--data=/var/lib/ids"}, "", nil},
		{[]string{"--data="}, "", nil},
	} {
		cmd, f := serveCommand(t, tt.args...)
		settings, err := resolve(cmd.Flags())
		if err != nil {
			t.Fatal(err)
		}
		err = f.finish(settings)
		if (err == nil) != (tt.store != "") || err == nil && (f.config.StoreURL != tt.store || !slices.Equal(f.config.Segments, tt.segments)) {
			t.Errorf("%q: %q, segments %q, %v, want %q, %q", tt.args, f.config.StoreURL, f.config.Segments, err, tt.store, tt.segments)
		}
	}
}

func TestServeRefusesMistakesAsUsage(t *testing.T) {
	t.Setenv("UIDRING_STORE", "mysql://ids:geheim@db")
	var log bytes.Buffer
	code := Main([]string{"serve", "--listen=:0", "--burst=-1", "--tls-cert=a.pem"}, strings.NewReader(""), io.Discard, &log)
	if code != exitUsage {
		t.Errorf("exit code %d, want %d", code, exitUsage)
	}
	text := log.String()
	for _, want := range []string{"listen :0", "burst -1", "tls-cert", "database"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	if strings.Count(text, "\n") != 1 || strings.Contains(text, "geheim") {
		t.Errorf("want one line without the password, got %s", text)
	}
}

func TestServeEndsWithCode2WhereTheStoreHasAnotherLayout(t *testing.T) {
	url := sqlite(t)
	generator(t, url, "holder", time.Minute)
	code, _, stderr := run(t, "", "serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--layout=leased")
	if code != exitUsage || !strings.Contains(stderr, "layout mismatch") {
		t.Errorf("exit code %d, want %d: %s", code, exitUsage, stderr)
	}
}

// systemd does not restart the service after exit code 2, so an etcd that is down must not give it.
func TestEtcdThatIsDownIsNoMistake(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // the port is closed now
	var log bytes.Buffer
	if code := Main([]string{"serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0", "--store=etcd://ids:geheim@" + l.Addr().String()}, strings.NewReader(""), io.Discard, &log); code != exitFailure {
		t.Errorf("exit code %d, want %d: %s", code, exitFailure, &log)
	}
	if text := log.String(); strings.Contains(text, "geheim") || !strings.Contains(text, "store: etcd URL: cannot log in at "+l.Addr().String()) {
		t.Errorf("the password is shown, or the address missing: %s", text)
	}
}
