package store_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/store"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// password has every character that means something in a URL or in a driver's own form.
const password = "p/a:s?s#w@o(r)d%=&+ "

func open(t *testing.T, url, namespace string) *store.Store {
	t.Helper()
	s, err := store.Open(url, namespace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// at returns a URL with the user ids and a password.
func at(scheme, host, rest, password string) string {
	return scheme + "://" + url.UserPassword("ids", password).String() + "@" + host + rest
}

func mariaDB(t *testing.T) (*testserver.Server, func(password string) string) {
	server := testserver.MariaDB(t)
	db, err := sqlassigner.OpenMySQL(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.MustExecContext(t.Context(), "CREATE USER ids@'%' IDENTIFIED BY '"+password+"'")
	db.MustExecContext(t.Context(), "GRANT ALL ON uidring.* TO ids@'%'")
	return server, func(password string) string { return at("mysql", server.Addr(), "/uidring?timeout=1s", password) }
}

// The server trusts this host: PostgreSQL asks for a password only where its pg_hba.conf says so.
func postgreSQL(t *testing.T) (*testserver.Server, func(password string) string) {
	server := testserver.PostgreSQL(t)
	db, err := sqlx.Open("pgx", server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.MustExecContext(t.Context(), "SET password_encryption = 'scram-sha-256'")
	db.MustExecContext(t.Context(), "CREATE ROLE ids SUPERUSER LOGIN PASSWORD '"+password+"'")
	var hba string
	if err := db.GetContext(t.Context(), &hba, "SHOW hba_file"); err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile(hba)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(hba, append([]byte("host all ids 127.0.0.1/32 scram-sha-256\n"), rules...), 0o600); err != nil {
		t.Fatal(err)
	}
	db.MustExecContext(t.Context(), "SELECT pg_reload_conf()")
	return server, func(password string) string {
		return at("postgres", server.Addr(), "/postgres?sslmode=disable", password)
	}
}

func redisServer(t *testing.T) (*testserver.Server, func(password string) string) {
	server := testserver.Redis(t)
	opt, err := redis.ParseURL(server.DSN())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opt)
	defer client.Close()
	if err := client.ACLSetUser(t.Context(), "ids", "on", ">"+password,
		"~uidring:*", "~{uidring:orders}:expiry", "~{uidring}:namespaces", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	return server, func(password string) string {
		return at("redis", server.Addr(), "/0?max_retries=1&dial_timeout=1s", password)
	}
}

func etcd(t *testing.T) (*testserver.Server, func(password string) string) {
	server := testserver.Etcd(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.DSN()}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, user := range []string{"root", "ids"} {
		if _, err := client.UserAdd(t.Context(), user, password); err != nil {
			t.Fatal(err)
		}
		if _, err := client.UserGrantRole(t.Context(), user, "root"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.AuthEnable(t.Context()); err != nil {
		t.Fatal(err)
	}
	return server, func(password string) string { return at("etcd", server.Addr(), "", password) }
}

func TestAGeneratorDrawsFromEveryServerAndNoTextHoldsThePassword(t *testing.T) {
	for name, start := range map[string]func(*testing.T) (*testserver.Server, func(string) string){
		"MariaDB": mariaDB, "PostgreSQL": postgreSQL, "Redis": redisServer, "etcd": etcd,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, urlWith := start(t)
			s := open(t, urlWith(password), "orders")
			draw(t, s)
			if text := s.String(); !strings.Contains(text, server.Addr()) || strings.Contains(text, "ids") || strings.Contains(text, "?") {
				t.Errorf("String = %q, want scheme, host and path", text)
			}
			refuses(t, urlWith("another word"), "another word")
			server.Kill9()
			refuses(t, urlWith(password), password)
		})
	}
}

// refuses opens a store and uses it, and wants an error without the password.
func refuses(t *testing.T, url, password string) {
	t.Helper()
	s, err := store.Open(url, "orders")
	if err == nil {
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err = s.LoadMeta(ctx)
	}
	if err == nil {
		t.Error("no error")
		return
	}
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err)} {
		if strings.Contains(text, password) || strings.Contains(text, password[:4]) {
			t.Errorf("%q holds the password", text)
		}
	}
}

// draw creates the tables twice and takes IDs with two generators, one after the other.
func draw(t *testing.T, s *store.Store) {
	t.Helper()
	for range 2 {
		if err := s.Create(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	last := int64(0)
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		g, err := cached.NewContext(ctx, cached.Config{
			// Redis quarantines each claim for Window and MaxSkew.
			Assigner: assigner.Leased(s, assigner.LeaseConfig{Window: time.Second, MaxSkew: time.Second}),
		})
		if err != nil {
			t.Fatal(err)
		}
		for range 10_000 {
			id, err := g.NextContext(ctx)
			if err != nil || id <= last {
				t.Fatalf("Next = %d, %v after %d", id, err, last)
			}
			last = id
		}
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := s.List(t.Context())
	if err != nil || len(rows) == 0 || rows[0].Version == 0 {
		t.Errorf("List = %+v, %v, want the row that was used", rows, err)
	}
}

func TestAGeneratorDrawsFromSQLite(t *testing.T) {
	path := filepath.Join(testserver.DiskFolder(t), "new", "folder?", "100% ids#.db")
	s := open(t, (&url.URL{Scheme: "sqlite", Path: path}).String(), "orders")
	if _, err := s.LoadMeta(t.Context()); err == nil {
		t.Error("LoadMeta: no error before Create")
	}
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("the folder is there before Create")
	}
	draw(t, s)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("Stat = %v, %v, want a file that is its owner's", info, err)
	}
	status, err := s.Status(t.Context())
	if err != nil || len(status.Faults) > 0 {
		t.Errorf("Status = %+v, %v, want no faults", status, err)
	}
}

func TestARelativeSQLiteFileLiesInTheWorkingFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	s := open(t, "sqlite:a%20b.db", "orders")
	if err := s.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("a b.db"); err != nil {
		t.Error(err)
	}
}

func TestAGeneratorDrawsFromAFolder(t *testing.T) {
	dir := testserver.DiskFolder(t)
	draw(t, open(t, "file://"+dir, "orders"))
	if err := open(t, "file://"+dir+"/missing", "orders").Create(t.Context()); err != nil {
		t.Errorf("Create = %v, want nothing done", err)
	}
	if _, err := os.Stat(dir + "/missing"); err == nil {
		t.Error("Create made the folder")
	}
}

func TestBlankIsAStoreWithoutANamespace(t *testing.T) {
	dir := testserver.DiskFolder(t)
	for _, tt := range []struct{ url, path string }{
		{"sqlite://" + dir + "/new/ids.db", dir + "/new/ids.db"},
		{"file://" + dir + "/", dir},
	} {
		s := open(t, tt.url, "orders")
		if s.Path() != tt.path {
			t.Errorf("%s: path %q, want %q", tt.url, s.Path(), tt.path)
		}
		for _, want := range []bool{true, false} {
			if blank, err := s.Blank(t.Context()); err != nil || blank != want {
				t.Errorf("%s: Blank = %v, %v, want %v", tt.url, blank, err, want)
			}
			draw(t, s)
		}
	}
	s := open(t, "mysql://ids@127.0.0.1:1/ids", "orders")
	if blank, err := s.Blank(t.Context()); blank || err != nil || s.Path() != "" {
		t.Errorf("of a server: path %q, Blank = %v, %v", s.Path(), blank, err)
	}
}

func TestOpenSaysWhatIsAllowed(t *testing.T) {
	const secret = "sesame"
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ url, want string }{
		{"", "store: URL is empty, allowed: sqlite:///path/ids.db"},
		{"ids.db", "allowed: sqlite:///path/ids.db"},
		{"oracle://ids:sesame@h/db", `store: URL begins with "oracle:", allowed:`},
		{"ids:sesame@tcp(h:3306)/db", "URL has an @ after the host"},
		{"://sesame", "cannot be read"},
		{"mysql://ids:sesame#@h/db", "write / ? # % @ in a user name or password as %2F %3F %23 %25 %40"},
		{"mysql://ids:1/sesame@h/db", "URL has an @ after the host"},
		{"mysql://ids:1?sesame@h/db", "URL has an @ after the host"},
		{"mysql://ids:1#sesame@h/db", "URL has an @ after the host"},
		{"mysql://ids:ses%ame@h/db", "cannot be read"},
		{"mysql://ids:x@h/db#sesame", "URL has a part after #"},
		{"mysql://h", "mysql URL: no database"},
		{"mysql://i%3Ads:sesame@h/db", "user name has a colon"},
		{"mysql:///db", "mysql URL has no host"},
		{"mysql:db", "mysql URL has no host"},
		{"mysql://ids:sesame@h/db?timeout=sesame", "mysql URL: sqlassigner: DSN: the driver rejects"},
		{"mysql://ids:sesame@h/db?tls=other", "mysql URL: sqlassigner: DSN: the driver rejects"},
		{"mysql://h/db?cert=c.pem", "only one of cert and key, allowed: both or neither"},
		{"mysql://h/db?ca=" + empty, "ca: no certificate in "},
		{"mysql://h/db?ca=" + empty + ".missing", "no such file"},
		{"postgres://ids:sesame@h", "no database"},
		{"postgres://h/db?password=sesame", "parameter password, allowed: the password before the @"},
		{"postgres://ids:sesame@h/db?sslmode=of", "store: postgres URL: failed to configure TLS (sslmode is invalid)"},
		{"redis://:sesame@h/x", "redis URL: redis: invalid database number"},
		{"redis://:sesame@h/0?ca=x&cert=y&key=z", "no such file"},
		{"redis://:sesame@h/0?db_=1", "unexpected option: db_"},
		{"etcd://ids:sesame@h?tls=maybe", `tls="maybe", allowed: true`},
		{"etcd://h?ttl=1&a=b", "parameters a, ttl, allowed with etcd: tls, ca, cert, key"},
		{"etcd://h/orders", "etcd URL: a path, allowed: none"},
		{"file:relative", "no folder, allowed: file:///folder"},
		{"file://host/folder", "URL has a scheme and a path only"},
		{"sqlite://ids.db", "URL has a scheme and a path only"},
		{"sqlite:ids.db?mode=memory", "URL has a scheme and a path only"},
		{"sqlite::memory:", "no file, allowed:"},
		{"sqlite:", "no file, allowed:"},
	} {
		s, err := store.Open(tt.url, "orders")
		if err == nil {
			t.Errorf("Open(%q): no error", tt.url)
			_ = s.Close()
			continue
		}
		if text := err.Error(); !strings.Contains(text, tt.want) || !strings.HasPrefix(text, "store: ") || strings.Contains(text, secret) ||
			strings.Contains(text, "\n") {
			t.Errorf("Open(%q) = %q, want one line with %q", tt.url, text, tt.want)
		}
	}
	if _, err := store.Open("sqlite:ids.db", "a b"); err == nil || !strings.Contains(err.Error(), `"a b", allowed: 1 to 64`) {
		t.Errorf("Open with namespace %q: %v", "a b", err)
	}
}

func TestStringShowsNoUserAndNoParameters(t *testing.T) {
	for url, want := range map[string]string{
		"mysql://ids:sesame@h:1/db?timeout=1s":            "mysql://h:1/db",
		"postgres://ids:sesame@h/db?application_name=ids": "postgres://h/db",
		"redis://sesame@h/0":                              "redis://h/0",
		"rediss://:sesame@h":                              "rediss://h",
		"etcd://a:1,b:2":                                  "etcd://a:1,b:2",
		"sqlite:a%20b.db":                                 "sqlite:a%20b.db",
		"sqlite:///var/ids.db":                            "sqlite:///var/ids.db",
		"file:///var/ids":                                 "file:///var/ids",
	} {
		if got := open(t, url, "orders").String(); got != want {
			t.Errorf("String of %s = %s, want %s", url, got, want)
		}
	}
}
