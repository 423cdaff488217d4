package sqlassigner

import (
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// settings are the driver settings for which OpenMySQL has defaults.
type settings struct {
	parseTime, rejectReadOnly, interpolate bool
	dial, read, write                      time.Duration
	loc                                    string
}

func TestOpenMySQLDefaultsGiveWayToTheDSN(t *testing.T) {
	defaults := settings{true, true, true, 5 * time.Second, 10 * time.Second, 10 * time.Second, "UTC"}
	with := func(change func(*settings)) settings {
		s := defaults
		change(&s)
		return s
	}
	for _, tt := range []struct {
		params string
		want   settings
	}{
		{"", defaults},
		{"?", defaults},
		{"?maxAllowedPacket=0", defaults},
		{"?parseTime=false", with(func(s *settings) { s.parseTime = false })},
		{"?rejectReadOnly=false&timeout=1s", with(func(s *settings) { s.rejectReadOnly, s.dial = false, time.Second })},
		{"?interpolateParams=0", with(func(s *settings) { s.interpolate = false })},
		{"?collation=gbk_chinese_ci", with(func(s *settings) { s.interpolate = false })},
		{"?charset=gbk", with(func(s *settings) { s.interpolate = false })},
		{"?charset=utf8mb4&interpolateParams=true", defaults},
		{"?readTimeout=0s&writeTimeout=3m", with(func(s *settings) { s.read, s.write = 0, 3*time.Minute })},
		{"?charset=utf8mb4,utf8", with(func(s *settings) { s.interpolate = false })},
		{"?loc=Asia%2FShanghai", with(func(s *settings) { s.loc = "Asia/Shanghai" })},
	} {
		for _, dsn := range []string{"ids:se?cret/@tcp(db:3306)/ids" + tt.params, "/ids" + tt.params, "mysql://ids:se%3Fcret%2F@db/ids" + tt.params} {
			cfg, err := ParseMySQL(dsn)
			if err != nil {
				t.Errorf("%s: %v", dsn, err)
				continue
			}
			got := settings{cfg.ParseTime, cfg.RejectReadOnly, cfg.InterpolateParams,
				cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout, cfg.Loc.String()}
			if got != tt.want {
				t.Errorf("%s: %+v, want %+v", dsn, got, tt.want)
			}
			if _, err := mysql.NewConnector(cfg); err != nil {
				t.Errorf("%s: %v", dsn, err)
			}
		}
	}
}

func TestOpenMySQLNeverPrintsThePassword(t *testing.T) {
	for _, dsn := range []string{
		"root:hunter2",
		"root:hunter2@tcp(db",
		"root:hunter2@tcp(db/ids",
		"root:hunter2@tcp(db)/ids?parseTime=hunter2",
		"root:pass/hunter2?timeout=hunter2",
		"root:pass/hunter2?tls=hunter2@tcp(db)",
		"root:pass/%hunter2",
		"root:pass/x?hunter2=%zzhunter2",
		"root@hunter2/ids",
		"root:hunter2@db:3306/ids",
		"root:x@tcp(db)/ids?serverPubKey=hunter2",
		"root:x@tcp(db)/ids?loc=hunter2",
		"mysql://root:hunter2",
		"mysql://root:hunter2@/ids",
		"mysql://root:hunter2@db",
		"mysql://root:%hunter2@db/ids",
		"mysql://root:1/hunter2@db/ids",
		"mysql://root:1?hunter2@db/ids",
		"mysql://root:1#hunter2@db/ids",
		"mysql://root:hunter2@db/ids?timeout=hunter2",
		"mysql://root:hunter2@db/ids?tls=hunter2",
		"mysql://root:hunter2@tcp(db:3306)/ids",
		"postgres://root:hunter2@db/ids",
	} {
		_, err := OpenMySQL(dsn)
		if err == nil {
			t.Errorf("%s: no error", dsn)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error holds the password: %v", dsn, err)
		}
		form := "DSN"
		if strings.HasPrefix(dsn, "mysql:") {
			form = "URL"
		}
		if text := err.Error(); !strings.HasPrefix(text, "sqlassigner: "+form) || !strings.HasSuffix(text, mysqlForms) {
			t.Errorf("%s: error %q, want %s and the two forms", dsn, err, form)
		}
	}
}

func TestParseMySQLReadsAURL(t *testing.T) {
	for _, tt := range []struct{ url, user, password, addr, database string }{
		{"mysql://ids:sesame@db/ids", "ids", "sesame", "db:3306", "ids"},
		{"mysql://i%3Ads:%2F%3F%23%40:x@[::1]:3307/a%2Fb%3Fc?loc=Asia/Shanghai", "i:ds", "/?#@:x", "[::1]:3307", "a/b?c"},
		{"mysql://db:1/ids?tls=true", "", "", "db:1", "ids"},
	} {
		cfg, err := ParseMySQL(tt.url)
		if err != nil {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		if cfg.User != tt.user || cfg.Passwd != tt.password || cfg.Net != "tcp" || cfg.Addr != tt.addr || cfg.DBName != tt.database {
			t.Errorf("%s: user %q, password %q, %s %q, database %q", tt.url, cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.DBName)
		}
		if cfg.TLS != nil && cfg.TLS.ServerName != "db" {
			t.Errorf("%s: TLS for %q", tt.url, cfg.TLS.ServerName)
		}
	}
}

func TestOpenMySQLConfigRejectsAConfigWithoutADatabase(t *testing.T) {
	for _, cfg := range []*mysql.Config{nil, mysql.NewConfig()} {
		if _, err := OpenMySQLConfig(cfg); err == nil || !strings.HasPrefix(err.Error(), "sqlassigner: Config ") {
			t.Errorf("%v: error %v", cfg, err)
		}
	}
}
