// Package store opens a store of worker IDs by URL: a database, Redis, etcd, or a folder.
//
//	sqlite:///var/lib/uidring/ids.db        sqlite:ids.db, relative to the working folder
//	mysql://user:password@host:3306/database?tls=true
//	postgres://user:password@host:5432/database?sslmode=verify-full
//	redis://user:password@host:6379/0       rediss:// with TLS
//	etcd://user:password@host:2379,host2:2379,host3:2379?tls=true
//	file:///var/lib/uidring/ids             a folder that exists, see package fileassigner
//
// Characters that mean something in a URL, such as / ? # % @ in a password, are written as %2F, %3F
// and so on.
//
// What follows the question mark is for the driver: parameters of go-sql-driver/mysql, of libpq for
// postgres, of go-redis. MySQL, rediss and etcd also have ca, cert and key, the names of PEM files:
// whom to trust in place of the system's authorities, and what to show. SQLite and file have no
// parameters.
package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/fileassigner"
)

// forms is what an error says of a URL.
const forms = "allowed: sqlite:///path/ids.db, sqlite:ids.db, mysql://user:password@host:3306/database, " +
	"postgres://user:password@host:5432/database, redis://user:password@host:6379/0, rediss://…, " +
	"etcd://user:password@host:2379,host2:2379, file:///folder"

// ErrNoLogin is found in the error of Open when the URL can be read, and its server does not answer
// or does not take user and password.
var ErrNoLogin = errors.New("cannot log in")

// A Store keeps the worker IDs of a namespace. Any number of goroutines may use it.
type Store struct {
	assigner.Store

	name   string // the URL without user, password and parameters
	path   string // of the file or folder, "" for a server
	create func(context.Context) error
	blank  func(context.Context) (bool, error)
	close  func() error
}

// Open returns the store of a namespace by URL. Nothing is created, and most servers are not asked
// anything yet: an etcd with a user is, and has five seconds to answer. Close it when nothing uses
// it any more. A folder is one namespace, whatever it is called here.
//
// Errors name what is wrong with the URL and what is allowed. No error holds a password, or a piece
// of one that was not escaped.
func Open(rawURL, name string) (*Store, error) {
	if err := assigner.CheckNamespace(name); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	u, err := parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	open, ok := openers()[u.Scheme]
	if !ok {
		return nil, fmt.Errorf("store: URL begins with %q, %s", u.Scheme+":", forms)
	}
	s := &Store{name: (&url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path}).String()}
	if err := open(s, u, name); err != nil {
		return nil, fmt.Errorf("store: %s URL: %w", u.Scheme, err)
	}
	return s, nil
}

// openers fill in a Store; none of them keeps the URL.
func openers() map[string]func(s *Store, u *url.URL, namespace string) error {
	return map[string]func(*Store, *url.URL, string) error{
		"sqlite":     openSQLite,
		"mysql":      openMySQL,
		"postgres":   openPostgres,
		"postgresql": openPostgres,
		"redis":      openRedis,
		"rediss":     openRedis,
		"etcd":       openEtcd,
		"file":       openFile,
	}
}

// Create makes what a store needs that is not there yet: the tables of a database, and with SQLite
// its file and the folder of that. Tables that are there stay as they are. Redis and etcd need
// nothing; the folder of a file URL is the operator's to make, so that a disk that is not mounted
// is noticed. Any number of processes may call it at once.
func (s *Store) Create(ctx context.Context) error {
	if s.create == nil {
		return nil
	}
	return s.create(ctx)
}

// String returns the URL without user, password and parameters.
func (s *Store) String() string { return s.name }

// Path returns the absolute path of the file or folder that keeps the worker IDs, or "" where a
// server does.
func (s *Store) Path() string { return s.path }

// Blank reports whether nothing has ever been kept at the path: the file is missing or empty, or
// the folder has no namespace. It is false for a server.
func (s *Store) Blank(ctx context.Context) (bool, error) {
	if s.blank == nil {
		return false, nil
	}
	return s.blank(ctx)
}

// Close ends the connections. A second call does nothing, or returns an error of the driver.
func (s *Store) Close() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// parse reads a URL. An @ that is not escaped shows that more than the password was read as
// something else; of such a URL, as of one that cannot be read, nothing is shown.
func parse(rawURL string) (*url.URL, error) {
	const hidden = "(it is not shown, since it may hold a password); write / ? # %% @ in a user name or password as %%2F %%3F %%23 %%25 %%40; "
	if rawURL == "" {
		return nil, errors.New("URL empty, " + forms)
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("URL cannot be read "+hidden+"%s", forms)
	}
	if u.Scheme == "" || u.Scheme == "sqlite" || u.Scheme == "file" {
		if u.Scheme == "" || u.User != nil || u.Host != "" || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("URL has a scheme and a path only, or another scheme, %s", forms)
		}
		return u, nil
	}
	if strings.Contains(u.Opaque+u.EscapedPath()+u.RawQuery+u.EscapedFragment(), "@") {
		return nil, fmt.Errorf("URL has an @ after the host "+hidden+"%s", forms)
	}
	switch {
	case u.Fragment != "":
		err = fmt.Errorf("URL has a part after # "+hidden+"%s", forms)
	case u.Hostname() == "":
		err = fmt.Errorf("%s URL has no host, %s", u.Scheme, forms)
	}
	return u, err
}

func openFile(s *Store, u *url.URL, _ string) error {
	if u.Path == "" || u.Opaque != "" {
		return errors.New("no folder, allowed: file:///folder, with an absolute path")
	}
	s.Store, s.path = fileassigner.LeaseStore(u.Path), filepath.Clean(u.Path)
	s.blank = func(ctx context.Context) (bool, error) {
		meta, err := s.LoadMeta(ctx)
		return err == nil && meta.Version == 0, err
	}
	return nil
}
