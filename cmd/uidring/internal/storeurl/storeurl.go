// Package storeurl opens a store of worker IDs by URL: a database, a server that keeps keys and
// values, or a folder. The function kinds lists the URLs; docs/COMMAND.md describes them and their
// parameters.
package storeurl

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/schema"
	"github.com/uidring/uidring/segment"
)

// A kind is a kind of store.
type kind struct {
	schemes []string // of the URL; with byScheme, the second one is with TLS
	forms   string   // of the URL, for errors
	open    func(s *Store, u *url.URL, namespace string, config *tls.Config) error
	tls     security
	params  []string // allowed; nil: the driver checks them
	path    bool     // a path follows the scheme, without host and parameters
	noHost  bool     // the host may be missing
	sql     bool     // a database, so that Store.DB is not nil
}

// kinds is the only list of the kinds of stores: errors, help texts and tests take it from here.
// open does not keep the URL.
func kinds() []kind {
	withTLS := []string{"ca", "cert", "key", "tls"}
	return []kind{
		{schemes: []string{"sqlite"}, forms: "sqlite:///path/ids.db, sqlite:ids.db", open: openSQLite, path: true, sql: true},
		{schemes: []string{"mysql"}, forms: "mysql://user:password@host:3306/database", open: openMySQL, tls: byDriver, sql: true},
		{schemes: []string{"postgres", "postgresql"}, forms: "postgres://user:password@host:5432/database", open: openPostgres, sql: true},
		{schemes: []string{"redis", "rediss"}, forms: "redis://user:password@host:6379/0", open: openRedis, tls: byScheme},
		{schemes: []string{"etcd"}, forms: "etcd://user:password@host:2379,host2:2379", open: openEtcd, tls: byParam, params: withTLS},
		{schemes: []string{"zookeeper"}, forms: "zookeeper://user:password@host:2181,host2:2181/root", open: openZooKeeper, tls: byParam, params: withTLS},
		{schemes: []string{"nats"}, forms: "nats://user:password@host:4222,host2:4222/bucket?sync=always", open: openNATS, tls: byParam, params: append(withTLS, "sync", "replicas", "creds")},
		{schemes: []string{"dynamodb"}, forms: "dynamodb://region/table", open: openDynamoDB, params: []string{"endpoint"}, noHost: true},
		{schemes: []string{"kubernetes"}, forms: "kubernetes:///namespace", open: openKubernetes, params: []string{}, noHost: true},
		{schemes: []string{"http", "https"}, forms: "https://:token@host:8443?addr=host2:8443", open: openRemote, tls: byScheme, params: []string{"ca", "cert", "key", "addr"}},
		{schemes: []string{"file"}, forms: "file:///folder", open: openFile, path: true},
	}
}

// Forms returns the forms of the URLs for texts: of all stores, or of SQL databases alone.
func Forms(sql bool) (forms []string) {
	for _, k := range kinds() {
		if k.sql || !sql {
			forms = append(forms, k.forms)
		}
	}
	return forms
}

// schemes returns the schemes of all URLs that Open accepts.
func schemes() (all []string) {
	for _, k := range kinds() {
		all = append(all, k.schemes...)
	}
	return all
}

// ErrNoLogin is in the error of Open if the URL is valid, but the server does not answer or rejects
// user and password.
var ErrNoLogin = errors.New("cannot log in")

// A Store keeps the leases of a namespace. Any number of goroutines may use it.
type Store struct {
	leasestore.Store

	name     string // the URL without user, password and parameters
	path     string // of the file or folder, "" for a server
	create   func(context.Context, []schema.Group) (made []string, err error)
	blank    func(context.Context) (bool, error)
	segments func(allowUndurable bool) segment.Source // nil: none
	db       *sqlx.DB                                 // nil unless the store is an SQL database
	close    func() error
}

// Open returns the store of a namespace by URL. It creates nothing. It connects only to NATS, and
// to an etcd or ZooKeeper with a user, which have some seconds to answer. Close the store after
// use. A folder is a single namespace: Open ignores name for it.
//
// Errors name the fault of the URL and the allowed form. No error contains a password, or a part of
// an unescaped password.
func Open(rawURL, name string) (*Store, error) {
	if err := leasestore.CheckNamespace(name); err != nil {
		return nil, err
	}
	u, k, err := parse(rawURL)
	if err != nil {
		forms := k.forms
		if forms == "" {
			forms = "a URL that begins with " + strings.Join(schemes(), ":, ") + ":, see uidring serve --help"
		}
		return nil, fmt.Errorf("store: %w, allowed: %s", err, forms)
	}
	s := &Store{
		name:   (&url.URL{Scheme: u.Scheme, Opaque: u.Opaque, Host: u.Host, Path: u.Path}).String(),
		create: func(context.Context, []schema.Group) ([]string, error) { return nil, nil },
		blank:  func(context.Context) (bool, error) { return false, nil },
		close:  func() error { return nil },
	}
	config, err := k.takeTLS(u)
	if err == nil {
		err = k.checkParams(u)
	}
	if err == nil {
		err = k.open(s, u, name, config)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %s URL: %w", u.Scheme, err)
	}
	return s, nil
}

// Create creates the missing parts of a store, and returns their names: the tables of some groups
// of package schema in a database (without a group, the tables of leases), with SQLite the file and
// the folders above it, the table of DynamoDB, and the bucket of NATS if the URL has its number of
// replicas. It leaves existing parts alone. The other servers need nothing. The operator creates
// the folder of a file URL, so that Create does not hide an unmounted disk. Any number of processes
// may call Create at once.
func (s *Store) Create(ctx context.Context, groups ...schema.Group) (made []string, err error) {
	return s.create(ctx, groups)
}

// String returns the URL without user, password and parameters.
func (s *Store) String() string { return s.name }

// Path returns the absolute path of the file or folder of the store, or "" for a server.
func (s *Store) Path() string { return s.path }

// Single reports whether the store is a folder, which has one namespace.
func (s *Store) Single() bool { return s.path != "" && s.db == nil }

// DB returns the handle of an SQL database, which Close closes, or nil for another store.
func (s *Store) DB() *sqlx.DB { return s.db }

// Blank reports whether the store was never used: the file is missing or empty, or the folder has
// no namespace. It returns false for a server.
func (s *Store) Blank(ctx context.Context) (bool, error) { return s.blank(ctx) }

// SegmentSource returns a source with counters beside the leases, or an error if no source for this
// kind of store exists. Counters belong to the store, not to the namespace. allowUndurable accepts
// a store that may forget ranges.
func (s *Store) SegmentSource(allowUndurable bool) (segment.Source, error) {
	if s.segments == nil {
		return nil, fmt.Errorf("store %s: segments, allowed with a database, Redis, etcd or a folder", s)
	}
	return s.segments(allowUndurable), nil
}

// Close ends the connections. A second call does nothing, or returns an error of the driver.
func (s *Store) Close() error { return s.close() }

// parse reads a URL. An unescaped @ after the host shows that url.Parse took a part of the password
// for the host or path. The errors for such a URL and for an unreadable URL do not quote it. With
// an error, parse returns the kind of store of the scheme, or the zero kind.
func parse(rawURL string) (*url.URL, kind, error) {
	const hidden = "(it is not shown, since it may hold a password); write / ? # % @ in a user name or password as %2F %3F %23 %25 %40"
	scheme, _, _ := strings.Cut(rawURL, ":")
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return slices.Contains(k.schemes, strings.ToLower(scheme)) })
	known := i >= 0
	var k kind
	if known {
		k = all[i]
	}
	fail := func(text string) (*url.URL, kind, error) { return nil, k, errors.New(text) }
	u, err := url.Parse(rawURL)
	if err != nil {
		return fail("URL cannot be read " + hidden)
	}
	switch {
	case u.Scheme == "":
		return fail("URL has no scheme")
	case k.path && (u.User != nil || u.Host != "" || u.RawQuery != "" || u.Fragment != ""):
		return fail(u.Scheme + " URL has a host or parameters; write the path after three slashes")
	case k.path:
	case strings.Contains(u.Opaque+u.EscapedPath()+u.RawQuery+u.EscapedFragment(), "@"):
		return fail("URL has an @ after the host " + hidden)
	case u.Fragment != "":
		return fail("URL has a part after # " + hidden)
	case !known:
		return fail(fmt.Sprintf("URL begins with %q", u.Scheme+":"))
	case u.Opaque != "" || u.Hostname() == "" && !k.noHost:
		return fail(u.Scheme + " URL has no host")
	}
	return u, k, nil
}

// noLogin is the error for a server that does not answer, or rejects the user.
func noLogin(u *url.URL, err error) error {
	return fmt.Errorf("%w at %s: %w; check that the servers run, and address, user and password", ErrNoLogin, u.Host, err)
}

// endpoints returns host and port of each host.
func endpoints(hosts, port string) []string {
	list := strings.Split(hosts, ",")
	for i, host := range list {
		if _, _, err := net.SplitHostPort(host); err != nil {
			list[i] = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
	}
	return list
}

// checkParams rejects the parameters of a URL that are not allowed.
func (k kind) checkParams(u *url.URL) error {
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(u.Query())), func(name string) bool { return slices.Contains(k.params, name) })
	if len(unknown) == 0 || k.params == nil {
		return nil
	}
	return fmt.Errorf("parameters %s, allowed: %s", strings.Join(unknown, ", "), cmp.Or(strings.Join(k.params, ", "), "none"))
}

// pathName returns the path of a URL, which is a single name.
func pathName(u *url.URL, what string) (string, error) {
	name := strings.Trim(u.Path, "/")
	if name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("path %q, allowed: / and the name of %s", u.Path, what)
	}
	return name, nil
}

func openFile(s *Store, u *url.URL, _ string, _ *tls.Config) error {
	if u.Path == "" || u.Opaque != "" {
		return errors.New("no folder, allowed: file:///folder, with an absolute path")
	}
	s.Store, s.path = fileassigner.LeaseStore(u.Path, fileassigner.Config{}), filepath.Clean(u.Path)
	s.segments = func(allowUndurable bool) segment.Source {
		return fileassigner.SegmentSource(u.Path, fileassigner.SegmentConfig{AllowUndurable: allowUndurable})
	}
	s.blank = func(ctx context.Context) (bool, error) {
		meta, err := s.LoadMeta(ctx)
		return err == nil && meta.Version == 0, err
	}
	return nil
}
