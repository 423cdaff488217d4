package cli

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// dataFolder returns the default folder for the SQLite file: the state folder that systemd made for
// the service, or a folder in the user's data folder. It returns "" if neither is known.
func dataFolder() string {
	return userFolder(0, "XDG_DATA_HOME", ".local/share/uidring")
}

// knownFolder returns the folder for the list of used stores. It lies outside of the data folder,
// so that serve notices a lost data folder: the second state folder that systemd made for the
// service, or a folder in the user's state folder. It returns "" if there is none, as in a
// container.
func knownFolder() string {
	return userFolder(1, "XDG_STATE_HOME", ".local/state/uidring")
}

// userFolder returns one of the state folders that systemd made, or else a folder in the folder of
// a variable, or else a folder in the home folder.
func userFolder(nth int, variable, inHome string) string {
	if states := strings.Split(os.Getenv("STATE_DIRECTORY")+":", ":"); states[0] != "" {
		return states[nth]
	}
	if folder := os.Getenv(variable); filepath.IsAbs(folder) {
		return filepath.Join(folder, "uidring")
	}
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, inHome)
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
	return (&url.URL{Scheme: "sqlite", Path: filepath.ToSlash(filepath.Join(folder, "uidring.db"))}).String(), nil
}
