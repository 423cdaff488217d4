// Package storeurl opens a store of worker IDs by URL: a database, Redis, etcd, or a folder.
//
//	sqlite:///var/lib/uidring/ids.db        sqlite:ids.db, relative to the working folder
//	mysql://user:password@host:3306/database?tls=true
//	postgres://user:password@host:5432/database?sslmode=verify-full
//	redis://user:password@host:6379/0       rediss:// with TLS
//	etcd://user:password@host:2379,host2:2379,host3:2379?tls=true
//	file:///var/lib/uidring/ids             a folder that exists, see package fileassigner
//
// Write the characters / ? # % @ in a user name or password as %2F %3F %23 %25 %40.
//
// The driver reads the parameters after the question mark: go-sql-driver/mysql, libpq for postgres,
// go-redis. MySQL, rediss and etcd also have ca, cert and key, the names of PEM files: the
// authorities to trust in place of the system's, and the client's certificate and key. SQLite and
// file have no parameters.
package storeurl

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

// forms lists the allowed URLs in errors.
const forms = "allowed: sqlite:///path/ids.db, sqlite:ids.db, mysql://user:password@host:3306/database, " +
	"postgres://user:password@host:5432/database, redis://user:password@host:6379/0, rediss://…, " +
	"etcd://user:password@host:2379,host2:2379, file:///folder"

// ErrNoLogin is in the error of Open if the URL is valid, but the server does not answer or rejects
// user and password.
var ErrNoLogin = errors.New("cannot log in")

// A Store keeps the leases of a namespace. Any number of goroutines may use it.
type Store struct {
	assigner.Store

	name   string // the URL without user, password and parameters
	path   string // of the file or folder, "" for a server
	create func(context.Context) error
	blank  func(context.Context) (bool, error)
	close  func() error
}

// Open returns the store of a namespace by URL. It creates nothing. It connects only to an etcd
// with a user, which has five seconds to answer. Close the store after use. A folder is a single
// namespace: Open ignores name for it.
//
// Errors name the fault of the URL and the allowed form. No error contains a password, or a part of
// an unescaped password.
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

// openers returns the functions that fill in a Store, by URL scheme. They do not keep the URL.
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

// Create creates the missing parts of a store: the tables of a database, and with SQLite the file
// and the folders above it. It leaves existing tables alone. Redis and etcd need nothing. The
// operator creates the folder of a file URL, so that Create does not hide an unmounted disk. Any
// number of processes may call Create at once.
func (s *Store) Create(ctx context.Context) error {
	if s.create == nil {
		return nil
	}
	return s.create(ctx)
}

// String returns the URL without user, password and parameters.
func (s *Store) String() string { return s.name }

// Path returns the absolute path of the file or folder of the store, or "" for a server.
func (s *Store) Path() string { return s.path }

// Blank reports whether the store was never used: the file is missing or empty, or the folder has
// no namespace. It returns false for a server.
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

// parse reads a URL. An unescaped @ after the host shows that url.Parse took a part of the password
// for the host or path. The errors for such a URL and for an unreadable URL do not quote it.
func parse(rawURL string) (*url.URL, error) {
	const hidden = "(it is not shown, since it may hold a password); write / ? # %% @ in a user name or password as %%2F %%3F %%23 %%25 %%40; "
	if rawURL == "" {
		return nil, errors.New("URL is empty, " + forms)
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
