package storeurl_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
	"github.com/uidring/uidring/schema"
)

// password has every character that means something in a URL or in a driver's own form.
const password = "p/a:s?s#w@o(r)d%=&+ "

func open(t *testing.T, url, namespace string) *storeurl.Store {
	t.Helper()
	s, err := storeurl.Open(url, namespace)
	return testkit.Close(t, s, err)
}

// logins start servers that the user ids can use with password. A URL has %s in place of both.
var logins = map[string]func(*testing.T) (server *testserver.Server, url string){
	"MariaDB": func(t *testing.T) (*testserver.Server, string) {
		return withUser(t, testserver.MariaDB(t), "IDENTIFIED BY '"+password+"'")
	},
	"MySQL": func(t *testing.T) (*testserver.Server, string) {
		return withUser(t, testserver.MySQL(t), "IDENTIFIED BY '"+password+"'")
	},
	"Redis": func(t *testing.T) (*testserver.Server, string) {
		server := testserver.Redis(t)
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		defer client.Close()
		testkit.Must(t, client.ACLSetUser(t.Context(), "ids", "on", ">"+password, "~{uidring}:*", "+@all").Err())
		return server, "redis://%s@" + server.Addr() + "/0?max_retries=1&dial_timeout=1s"
	},
	"etcd": func(t *testing.T) (*testserver.Server, string) {
		server := testserver.Etcd(t)
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{server.DSN()}, Logger: zap.NewNop()})
		testkit.Close(t, client, err)
		for _, user := range []string{"root", "ids"} {
			_, errAdd := client.UserAdd(t.Context(), user, password)
			_, errGrant := client.UserGrantRole(t.Context(), user, "root")
			testkit.Must(t, errors.Join(errAdd, errGrant))
		}
		_, err = client.AuthEnable(t.Context())
		testkit.Must(t, err)
		return server, "etcd://%s@" + server.Addr()
	},
	"NATS": func(t *testing.T) (*testserver.Server, string) {
		server := testserver.NATS(t, "--user", "ids", "--pass", password)
		return server, "nats://%s@" + server.Addr() + ",127.0.0.1:1/workers?sync=always&replicas=1"
	},
	"ZooKeeper": func(t *testing.T) (*testserver.Server, string) { // the znodes are for the user that has created them
		server := testserver.ZooKeeper(t)
		return server, "zookeeper://%s@127.0.0.1:1," + server.Addr() + "/services/uidring"
	},
}

func withUser(t *testing.T, server *testserver.Server, way string) (*testserver.Server, string) {
	db, err := sqlassigner.OpenMySQL(server.DSN())
	testkit.Close(t, db, err)
	db.MustExecContext(t.Context(), "CREATE USER ids@'%' "+way)
	db.MustExecContext(t.Context(), "GRANT ALL ON uidring.* TO ids@'%'")
	return server, "mysql://%s@" + server.Addr() + "/uidring?timeout=1s"
}

// as puts the user ids with a password into a URL.
func as(password, format string) string {
	return strings.Replace(format, "%s", url.UserPassword("ids", password).String(), 1)
}

func TestOpenServers(t *testing.T) {
	t.Parallel()
	for name, start := range logins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, format := start(t)
			s := open(t, as(password, format), "orders")
			if _, err := s.Status(t.Context()); !strings.Contains(fmt.Sprint(err), "allowed: etcd 3.5 or later") {
				use(t, s)
			}
			if text := s.String(); !strings.Contains(text, server.Addr()) || strings.Contains(text, "ids") || strings.Contains(text, "?") {
				t.Errorf("String = %q, want scheme, host and path", text)
			}
			refuses(t, as("another word", format), "another word")
			server.Kill9()
			refuses(t, as(password, format), password)
		})
	}
}

// refuses opens a store and uses it, and wants an error without the password.
func refuses(t *testing.T, url, password string) {
	t.Helper()
	s, err := storeurl.Open(url, "orders")
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
	if text := fmt.Sprintf("%v %+v", err, err); strings.Contains(text, password[:4]) {
		t.Errorf("%q holds the password, or its beginning", text)
	}
}

// AWS's SDK takes the credentials from the environment.
func TestOpenDynamoDB(t *testing.T) {
	server := testserver.Dynalite(t, "../../../../assigner/dynamoassigner/testdata/dynalite/serve.js")
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "ids", "AWS_SECRET_ACCESS_KEY": "sesame", "AWS_REGION": "eu-central-1",
		"AWS_CONFIG_FILE": t.TempDir() + "/none", "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none",
	} {
		t.Setenv(name, value)
	}
	parameters := "?endpoint=" + url.QueryEscape(server.DSN())
	for _, region := range []string{"", "us-east-1"} { // two tables
		s := open(t, "dynamodb://"+region+"/worker-ids"+parameters, "orders")
		use(t, s)
		if want := "dynamodb://" + region + "/worker-ids"; s.String() != want {
			t.Errorf("String = %q, want %q", s, want)
		}
	}
	t.Setenv("AWS_REGION", "")
	if _, err := storeurl.Open("dynamodb:///worker-ids"+parameters, "orders"); err == nil || !strings.Contains(err.Error(), "no region, allowed: dynamodb://region/table") {
		t.Errorf("Open without a region: %v", err)
	}
}

// kubectl proxy forwards requests to the server and adds credentials: the store sends requests for
// the leases of the Kubernetes namespace, and follows no redirect.
func TestOpenKubernetesThroughKubectlProxy(t *testing.T) {
	asked := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if !strings.HasPrefix(r.URL.Path, "/apis/coordination.k8s.io/v1/namespaces/ids/leases") {
			t.Errorf("a request for %s", r.URL.Path)
		}
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	}))
	defer proxy.Close()
	s := open(t, "kubernetes://"+proxy.Listener.Addr().String()+"/ids", "orders")
	if _, err := s.List(t.Context()); err == nil || asked == 0 {
		t.Errorf("List: %v after %d requests", err, asked)
	}
}

func TestCreateBucketNeedsReplicas(t *testing.T) {
	t.Parallel()
	base := "nats://" + testserver.NATS(t).Addr() + "/workers"
	for _, tt := range []struct{ parameters, want string }{
		{"", "bucket not found: workers; create its stream with natsassigner.StreamConfig, or add the parameter replicas"},
		{"?replicas=1", ""},
		{"", ""}, // it exists
	} {
		_, err := open(t, base+tt.parameters, "orders").Create(t.Context())
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Create with %q = %v, want %q", tt.parameters, err, tt.want)
		}
	}
	for parameters, faults := range map[string]int{"": 1, "?sync=always": 0} {
		if status, err := open(t, base+parameters, "orders").Status(t.Context()); err != nil || len(status.Faults) != faults {
			t.Errorf("Status with %q = %+v, %v, want %d faults", parameters, status, err, faults)
		}
	}
}

// use creates the tables twice, takes an ID with a generator, and finds its row.
func use(t *testing.T, s *storeurl.Store) {
	t.Helper()
	for range 2 {
		_, err := s.Create(t.Context(), schema.Leases, schema.Segments)
		testkit.Must(t, err)
	}
	g := testgen.Cached(t, cached.Config{
		// Redis quarantines each claim for Window and MaxSkew.
		Assigner: assigner.Leased(s, assigner.LeaseConfig{Window: time.Second, MaxSkew: time.Second}),
	})
	_, err := g.NextContext(t.Context())
	testkit.Must(t, errors.Join(err, g.Close()))
	rows, err := s.List(t.Context())
	if err != nil || len(rows) == 0 || rows[0].Version == 0 {
		t.Errorf("List = %+v, %v, want the row that was used", rows, err)
	}
	if counters, err := s.SegmentSource(true); err == nil {
		r, err := counters.Advance(t.Context(), "orders", 10)
		if again, errAgain := counters.Advance(t.Context(), "orders", 1); errors.Join(err, errAgain) != nil || again.First <= r.Last {
			t.Errorf("Advance = %+v, %v, then %+v, %v", r, err, again, errAgain)
		}
	}
}

func TestBlankUntilTheFirstUse(t *testing.T) {
	dir := testserver.DiskFolder(t)
	t.Chdir(dir)
	_, err := open(t, "file://"+dir+"/missing", "orders").Create(t.Context())
	testkit.Must(t, err)
	if _, err := os.Stat("missing"); err == nil {
		t.Error("Create made the folder")
	}
	odd := dir + "/other/folder?/100% ids#.db"
	for _, tt := range []struct {
		url, path string
		database  bool // in a new folder
	}{
		{"sqlite:new/a%20b.db", dir + "/new/a b.db", true},
		{(&url.URL{Scheme: "sqlite", Path: odd}).String(), odd, true},
		{"file://" + dir + "/", dir, false},
	} {
		s := open(t, tt.url, "orders")
		if s.Path() != tt.path {
			t.Errorf("%s: path %q, want %q", tt.url, s.Path(), tt.path)
		}
		_, err := s.LoadMeta(t.Context())
		if _, errStat := os.Stat(filepath.Dir(tt.path)); tt.database && (err == nil || errStat == nil) {
			t.Errorf("%s: LoadMeta: %v, and Stat of the folder: %v before Create, want errors", tt.url, err, errStat)
		}
		for _, want := range []bool{true, false} {
			if blank, err := s.Blank(t.Context()); err != nil || blank != want {
				t.Errorf("%s: Blank = %v, %v, want %v", tt.url, blank, err, want)
			}
			use(t, s)
		}
		if info, err := os.Stat(tt.path); err != nil || tt.database && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: Stat = %v, %v, want a file that is its owner's", tt.url, info, err)
		}
		if status, err := s.Status(t.Context()); err != nil || len(status.Faults) > 0 {
			t.Errorf("%s: Status = %+v, %v, want no faults", tt.url, status, err)
		}
	}
	s := open(t, "mysql://ids@127.0.0.1:1/ids", "orders")
	if blank, err := s.Blank(t.Context()); blank || err != nil || s.Path() != "" {
		t.Errorf("of a server: path %q, Blank = %v, %v", s.Path(), blank, err)
	}
}

func TestURLsAreDocumented(t *testing.T) {
	text := testkit.ReadFile(t, "../../../../docs/COMMAND.md")
	for _, scheme := range storeurl.Schemes() {
		if !strings.Contains(text, "`"+scheme+":") {
			t.Errorf("docs/COMMAND.md has no URL that begins with %s:", scheme)
		}
	}
}

// Without ContextTimeoutEnabled, go-redis waits beyond the end of a context.
func TestRedisClientObeysItsContext(t *testing.T) {
	client, err := storeurl.DialRedis(&url.URL{Scheme: "redis", Host: "h"}, nil)
	testkit.Close(t, client, err)
	if !client.Options().ContextTimeoutEnabled {
		t.Error("ContextTimeoutEnabled is not set")
	}
}

// FuzzOpenShowsNoPassword: no error and no name contains the password, even if characters around it
// are not escaped.
func FuzzOpenShowsNoPassword(f *testing.F) {
	for _, seed := range [][3]string{
		{"", "", "/db"}, {"/", "", "/db?timeout=1s"}, {"1?", "#", ""}, {"@x:1/", "", "/db"}, {"%", "", "/0"},
		{"1#", "@", "/db?tls=x"}, {"[", "]", ":x/db"}, {"", "%40:", "/0?db=x"}, {"@/:1x", "", "/db"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	const password = "sesame"
	f.Fuzz(func(t *testing.T, before, after, rest string) {
		if strings.Contains(strings.ToLower(before+after+rest), "sesame") {
			t.Skip()
		}
		for _, scheme := range append(storeurl.Schemes(), "ftp") {
			if scheme == "etcd" || scheme == "nats" || scheme == "zookeeper" { // Open would call a server
				continue
			}
			s, err := storeurl.Open(scheme+"://ids:"+before+password+after+"@127.0.0.1"+rest, "orders")
			text := fmt.Sprint(err)
			if err == nil {
				text = s.String()
				_ = s.Close()
			}
			if strings.Contains(strings.ToLower(text), password) {
				t.Errorf("%q, %q, %q with %s: %s", before, after, rest, scheme, text)
			}
		}
	})
}
