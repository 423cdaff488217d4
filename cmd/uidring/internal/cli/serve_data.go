package cli

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"
)

// dataFolder is where SQLite keeps worker IDs unless somebody says otherwise: the folder that
// systemd has made for the service, or one among the data of the user. It is "" where neither is
// known.
func dataFolder(env func(string) string) string {
	state, _, _ := strings.Cut(env("STATE_DIRECTORY"), ":") // systemd may have made several
	if state != "" {
		return state
	}
	if data := env("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "uidring")
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "share", "uidring")
	}
	return ""
}

// knownFolder is where serve notes which stores it has used, outside of the data folder, so that a
// data folder that is gone is noticed: the second folder that systemd has made for the service, or
// one among the state of the user. It is "" where there is none, as in a container.
func knownFolder(env func(string) string) string {
	if first, rest, _ := strings.Cut(env("STATE_DIRECTORY"), ":"); first != "" {
		second, _, _ := strings.Cut(rest, ":")
		return second
	}
	if state := env("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "uidring")
	}
	if home := env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "uidring")
	}
	return ""
}

// dataURL is the store in a folder.
func dataURL(folder string) (string, error) {
	if folder == "" {
		return "", errors.New("data empty, and neither STATE_DIRECTORY nor XDG_DATA_HOME nor HOME says where it could be, allowed: a folder; or set store")
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	return (&url.URL{Scheme: "sqlite", Path: filepath.ToSlash(filepath.Join(folder, "uidring.db"))}).String(), nil
}
