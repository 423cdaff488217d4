package sqlassigner

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

func TestOpenMySQLDefaultsGiveWayToTheDSN(t *testing.T) {
	const times, booleans = "readTimeout=10s&timeout=5s&writeTimeout=10s", "interpolateParams=true&parseTime=true&rejectReadOnly=true"
	for params, want := range map[string]string{
		"":                                 booleans + "&" + times,
		"?":                                booleans + "&" + times,
		"?maxAllowedPacket=0":              "maxAllowedPacket=0&" + booleans + "&" + times,
		"?parseTime=false":                 "interpolateParams=true&rejectReadOnly=true&" + times,
		"?rejectReadOnly=false&timeout=1s": "interpolateParams=true&parseTime=true&readTimeout=10s&timeout=1s&writeTimeout=10s",
		"?interpolateParams=0":             "parseTime=true&rejectReadOnly=true&" + times,
		"?collation=gbk_chinese_ci":        "collation=gbk_chinese_ci&parseTime=true&rejectReadOnly=true&" + times,
		"?charset=utf8mb4,utf8":            "charset=utf8mb4,utf8&parseTime=true&rejectReadOnly=true&" + times,
		"?charset=utf8mb4&interpolateParams=true": "charset=utf8mb4&" + booleans + "&" + times,
		"?readTimeout=0s&writeTimeout=3m":         booleans + "&timeout=5s&writeTimeout=3m0s",
		"?loc=Asia%2FShanghai":                    "loc=Asia%2FShanghai&" + booleans + "&" + times,
	} {
		for _, dsn := range []string{"ids:se?cret/@tcp(db:3306)/ids" + params, "/ids" + params, "mysql://ids:se%3Fcret%2F@db/ids" + params} {
			cfg, err := ParseMySQL(dsn)
			if err != nil {
				t.Errorf("%s: %v", dsn, err)
				continue
			}
			_, got, _ := strings.Cut(cfg.FormatDSN(), "/ids?")
			list := func(params string) []string { return slices.Sorted(strings.SplitSeq(params, "&")) }
			if !slices.Equal(list(got), list(want)) {
				t.Errorf("%s: %s, want %s", dsn, got, want)
			}
			if _, err := OpenMySQLConfig(cfg); err != nil {
				t.Errorf("%s: %v", dsn, err)
			}
		}
	}
}

func TestOpenMySQLNeverPrintsThePassword(t *testing.T) {
	for _, dsn := range []string{
		"root:hunter2@tcp(db",
		"root:hunter2@tcp(db)/ids?parseTime=hunter2",
		"root:pass/hunter2?tls=hunter2@tcp(db)",
		"root:pass/x?hunter2=%zzhunter2",
		"root@hunter2/ids",
		"root:hunter2@db:3306/ids",
		"root:x@tcp(db)/ids?serverPubKey=hunter2",
		"mysql://root:hunter2@db",
		"mysql://root:%hunter2@db/ids",
		"mysql://root:1/hunter2@db/ids",
		"mysql://root:1?hunter2@db/ids",
		"mysql://root:1#hunter2@db/ids",
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
