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
		{"?loc=Asia%2FShanghai", with(func(s *settings) { s.loc = "Asia/Shanghai" })},
	} {
		for _, dsn := range []string{"ids:se?cret/@tcp(db:3306)/ids" + tt.params, "/ids" + tt.params} {
			cfg, err := mysqlConfig(dsn)
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
	} {
		_, err := OpenMySQL(dsn)
		if err == nil {
			t.Errorf("%s: no error", dsn)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error holds the password: %v", dsn, err)
		}
		if !strings.HasPrefix(err.Error(), "sqlassigner: DSN: ") {
			t.Errorf("%s: error %q", dsn, err)
		}
	}
}
