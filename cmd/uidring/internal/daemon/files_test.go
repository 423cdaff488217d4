package daemon

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

func TestWatchedFileKeepsItsValueAndReportsMistakesOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "number")
	write(t, path, "1")
	value := ""
	f := &watchedFile{name: "number", files: []string{path}, secret: path, use: func(contents [][]byte) (string, error) {
		if strings.Trim(string(contents[0]), "0123456789") != "" {
			return "", errors.New("no number")
		}
		value = string(contents[0])
		return "the number " + value, nil
	}}
	first, err := f.read()
	testkit.Must(t, f.load(slog.New(slog.DiscardHandler), first, err))
	for _, tt := range []struct {
		name     string
		contents string // "-": no file
		mode     os.FileMode
		asked    bool
		want     string // the value
		log      string // a part of the record; "": none
	}{
		{"nothing has changed", "1", 0o600, false, "1", ""},
		{"another", "2", 0o600, false, "2", "the number 2"},
		{"a bad one", "x", 0o640, false, "2", "no number"},
		{"still bad", "x", 0o640, false, "2", ""},
		{"still bad, and asked", "x", 0o640, true, "2", "the old contents stay in use"},
		{"no file", "-", 0o600, false, "2", "no such file"},
		{"a third that others can read", "3", 0o644, false, "3", "mode=0644"},
		{"a fourth that others can change", "4", 0o602, false, "4", "other users of this host can read or change a secret file"},
	} {
		write(t, path, tt.contents)
		testkit.Must(t, os.Chmod(path, tt.mode))
		if tt.contents == "-" {
			testkit.Must(t, os.Remove(path))
		}
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		if !tt.asked { // else at the second look
			if f.refresh(false, logger); log.Len() > 0 {
				t.Errorf("%s: logged %q at the first look", tt.name, &log)
			}
		}
		f.refresh(tt.asked, logger)
		if value != tt.want || (tt.log == "") != (log.Len() == 0) || !strings.Contains(log.String(), tt.log) {
			t.Errorf("%s: value %q, want %q; logged %q, want %q in it", tt.name, value, tt.want, &log, tt.log)
		}
	}
}

// replace puts a file in the place of another at once.
func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+".new", text)
	testkit.Must(t, os.Rename(path+".new", path))
}

func TestCertificateIsReplaced(t *testing.T) {
	takesTime(t)
	later := time.Now().Add(time.Hour)
	cert1, key1 := testserver.Certificate(t, 1, later)
	cert2, key2 := testserver.Certificate(t, 2, later)
	expired, expiredKey := testserver.Certificate(t, 3, time.Now().Add(-time.Hour))
	cfg, log := testConfig(t)
	dir := t.TempDir()
	cfg.CertFile, cfg.KeyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	write(t, cfg.CertFile, cert1)
	write(t, cfg.KeyFile, key1)
	r := ready(t, cfg, log)
	if page := log.find("ready")["page"]; page != "https://"+r.admin+"/" {
		t.Errorf("page %v", page)
	}
	trust := trusting(cert1 + cert2 + expired)
	serial := func() int64 { // of the certificate that a new connection gets
		conn, err := tls.Dial("tcp", r.address, trust)
		testkit.Must(t, err)
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	for _, step := range []struct {
		cert, key, refused string
		serial             int64
		hangup             bool
	}{
		{cert2, key1, "private key does not match", 1, false},
		{cert2, key2, "", 2, true},
		{"no certificate", key2, "failed to find any PEM data", 2, false},
		{expired, expiredKey, "expired at", 2, false},
		{cert1, key1, "", 1, false},
	} {
		replace(t, cfg.CertFile, step.cert)
		replace(t, cfg.KeyFile, step.key)
		if step.hangup {
			testkit.Must(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		}
		testkit.Until(t, step.refused, func() bool {
			record := log.find("certificate not loaded, the old contents stay in use")
			return step.refused == "" || record != nil && strings.Contains(record["error"].(string), step.refused)
		})
		testkit.Until(t, fmt.Sprint("certificate ", step.serial), func() bool { return serial() == step.serial })
	}
}
