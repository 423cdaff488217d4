package sqlassigner_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestScripts runs the script in testdata. Below a command it has fields of a Config, or errors.
//
//	open mysql://db/ids  prints user, password, address, database and the name for TLS
//	params ?timeout=1s   adds this to texts of three forms, and prints their parameters, once if equal
//	config               opens no Config, and a Config without a database
//	sticky "orders"      calls Assign with this key, quoted as in Go, which must be an error
func TestScripts(t *testing.T) {
	scripts.Run(t, func(t *testing.T, paragraph string) string {
		var s testkit.Script
		return s.Run(paragraph, func(words testkit.Words) {
			switch words[0] {
			case "open":
				s.Print("  %s", opened(t, words.Arg(1), address))
			case "params":
				var answers []string
				for _, form := range []string{"ids:se?cret/@tcp(db:3306)/ids", "/ids", "mysql://ids:se%3Fcret%2F@db/ids"} {
					answers = append(answers, opened(t, form+words.Arg(1), params))
				}
				s.Print("  %s", strings.Join(slices.Compact(answers), "\n  "))
			case "config":
				for _, cfg := range []*mysql.Config{nil, mysql.NewConfig()} {
					_, err := sqlassigner.OpenMySQLConfig(cfg)
					s.Print("  %v", err)
				}
			case "sticky":
				key, err := strconv.Unquote(strings.Join(words[1:], " "))
				testkit.Must(t, err)
				_, err = sqlassigner.Sticky(noServer, key, sqlassigner.Config{}).Assign(t.Context(), assignertest.Domain())
				s.Print("  %v", err)
			}
		})
	})
}

// noServer is a handle that no call may use.
var noServer = sqlassigner.Wrap(sql.OpenDB(nil), sqlassigner.MySQL)

// opened returns fields of the Config of a text, or its error, which must not show the password.
func opened(t *testing.T, text string, fields func(*mysql.Config) string) string {
	cfg, err := sqlassigner.ParseMySQL(text)
	db, errOpen := sqlassigner.OpenMySQL(text)
	if fmt.Sprint(err) != fmt.Sprint(errOpen) || strings.Contains(fmt.Sprint(err), "hunter2") {
		t.Errorf("%s: ParseMySQL returns %v, OpenMySQL %v", text, err, errOpen)
	}
	if err != nil {
		return err.Error()
	}
	testkit.Must(t, db.Close())
	return fields(cfg)
}

func address(cfg *mysql.Config) string {
	text := fmt.Sprintf("user %q, password %q, %s %q, database %q", cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.DBName)
	if cfg.TLS != nil {
		text += fmt.Sprintf(", TLS for %q", cfg.TLS.ServerName)
	}
	return text
}

func params(cfg *mysql.Config) string {
	_, params, _ := strings.Cut(cfg.FormatDSN(), "/ids?")
	return strings.Join(slices.Sorted(strings.SplitSeq(params, "&")), "&")
}
