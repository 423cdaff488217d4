package cli

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"
)

// dataFile is the name of the SQLite file in the data folder.
const dataFile = "uidring.db"

// dataFolder returns the default folder for the SQLite file: the state folder that systemd made for
// the service, or a folder in the user's data folder. It returns "" if neither is known.
func dataFolder(env func(string) string) string {
	state, _, _ := strings.Cut(env("STATE_DIRECTORY"), ":") // systemd may list several
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

// knownFolder returns the folder for the list of used stores. It lies outside of the data folder,
// so that serve notices a lost data folder: the second state folder that systemd made for the
// service, or a folder in the user's state folder. It returns "" if there is none, as in a
// container.
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

// dataURL returns the URL of the SQLite store in a folder.
func dataURL(folder string) (string, error) {
	if folder == "" {
		return "", errors.New("data is empty, and STATE_DIRECTORY, XDG_DATA_HOME and HOME give no default, allowed: a folder; or set store")
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	return (&url.URL{Scheme: "sqlite", Path: filepath.ToSlash(filepath.Join(folder, dataFile))}).String(), nil
}
