package daemon

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// number is a value in a file.
func number(path string) *watchedFile[string] {
	return &watchedFile[string]{
		name:  "number",
		files: []string{path},
		parse: func(contents [][]byte) (string, error) {
			text := string(contents[0])
			if strings.Trim(text, "0123456789") != "" || text == "" {
				return "", errors.New("no number")
			}
			return text, nil
		},
		describe: func(_ *string, n string) string { return "the number " + n },
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestWatchedFileReportsSecretsThatOthersRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	write(t, path, "alice 0123456789abcdef")
	for mode, want := range map[os.FileMode]string{0o600: "", 0o640: "", 0o660: "", 0o644: "mode=0644", 0o602: "mode=0602", 0o666: "mode=0666"} {
		must(t, os.Chmod(path, mode))
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, nil))
		tokens := newTokens("tokens", path)
		tokens.refresh(true, logger)
		if reported := strings.Contains(log.String(), "other users of this host can read or change"); reported != (want != "") || !strings.Contains(log.String(), want) {
			t.Errorf("mode %v: %s, want %q", mode, &log, want)
		}
		if tokens.current() == nil || tokens.current().Len() != 1 {
			t.Errorf("mode %v: the tokens are not in use", mode)
		}
	}
}

func TestWatchedFileKeepsItsValueAndReportsMistakesOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "number")
	write(t, path, "1")
	r := number(path)
	if err := r.load(); err != nil || *r.current() != "1" {
		t.Fatalf("load: %v, value %q", err, *r.current())
	}
	for _, tt := range []struct {
		name     string
		contents string // "-": no file
		asked    bool
		want     string // the value
		log      string // a part of the record; "": none
	}{
		{"nothing has changed", "1", false, "1", ""},
		{"another", "2", false, "2", "the number 2"},
		{"a bad one", "x", false, "2", "no number"},
		{"still bad", "x", false, "2", ""},
		{"still bad, and asked", "x", true, "2", "the old contents stay in use"},
		{"no file", "-", false, "2", "no such file"},
		{"a third", "3", false, "3", "the number 3"},
	} {
		write(t, path, tt.contents)
		if tt.contents == "-" {
			must(t, os.Remove(path))
		}
		var log bytes.Buffer
		r.refresh(tt.asked, slog.New(slog.NewTextHandler(&log, nil)))
		if *r.current() != tt.want {
			t.Errorf("%s: value %q, want %q", tt.name, *r.current(), tt.want)
		}
		if (tt.log == "") != (log.Len() == 0) || !strings.Contains(log.String(), tt.log) {
			t.Errorf("%s: logged %q, want %q in it", tt.name, &log, tt.log)
		}
	}
}
