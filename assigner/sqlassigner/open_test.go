package sqlassigner

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestScripts runs the scripts in testdata. Below a command they have fields of a Config or errors.
//
//	open mysql://db/ids  prints user, password, address, database and the name for TLS
//	params ?timeout=1s   adds this to texts of three forms, and prints their parameters, once if equal
//	config               opens no Config, and a Config without a database
//	sticky "orders"      calls Assign with this key, quoted as in Go, which must be an error
//	mysql 1213 refused   prints how the dialect judges these errors, see errorOf, once if they are alike,
//	                     and the error of a call, with … for the cause
func TestScripts(t *testing.T) {
	scripts.Each(t, func(t *testing.T, s *testkit.Script, words testkit.Words) {
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
				_, err := OpenMySQLConfig(cfg)
				s.Print("  %v", err)
			}
		case "sticky":
			key, err := strconv.Unquote(strings.Join(words[1:], " "))
			testkit.Must(t, err)
			_, err = Sticky(Wrap(sql.OpenDB(nil), MySQL), key, Config{}).Assign(t.Context(), assignertest.Domain())
			s.Print("  %v", err)
		default:
			s.Print("  %s", judged(t, words[0], words[1:]))
		}
	})
}

// judged returns how a dialect judges errors, with one line for neighbors that are alike.
func judged(t *testing.T, dialect string, words []string) string {
	d, err := dialectOf(dialect, nil)
	testkit.Must(t, err)
	if got := d.diagnose(nil); got != (diagnosis{}) {
		t.Errorf("no error is diagnosed as %+v", got)
	}
	var lines []string
	for _, word := range words {
		err := errorOf(dialect, word)
		for _, err := range []error{err, fmt.Errorf("wrapped: %w", err)} {
			got, explained := d.diagnose(err), (&store{dialect: d}).explain(t.Context(), "look", 1, err)
			lines = append(lines, fmt.Sprintf("passes %t, undone %t, unseen %t: %s", got.passes, got.undone, unseen(err), strings.Replace(explained.Error(), err.Error(), "…", 1)))
			if got.passes && !storecall.Passes(explained) {
				t.Errorf("a start does not wait: %v", explained)
			}
		}
	}
	return strings.Join(slices.Compact(lines), "\n  ")
}

type stateError string

func (e stateError) Error() string    { return "SQLSTATE " + string(e) }
func (e stateError) SQLState() string { return string(e) }

type codeError int

func (e codeError) Error() string { return fmt.Sprint("code ", int(e)) }
func (e codeError) Code() int     { return int(e) }

// A networkError looks like an error of a network, as errors of ncruces/go-sqlite3 do.
type networkError struct{ error }

func (networkError) Timeout() bool   { return false }
func (networkError) Temporary() bool { return true }

type closedError bool

func (closedError) Error() string       { return "conn closed" }
func (e closedError) SafeToRetry() bool { return bool(e) }

// errorOf returns the error of a number or SQLSTATE, one of these, or one of a text with _ for
// spaces, which may begin with net: for an error of a network.
func errorOf(dialect, word string) error {
	named := map[string]error{
		"ErrBadConn": driver.ErrBadConn, "ErrInvalidConn": mysql.ErrInvalidConn, "EOF": io.EOF, "ErrUnexpectedEOF": io.ErrUnexpectedEOF,
		"refused": &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errors.New("refused"))},
		"late":    context.DeadlineExceeded, "Canceled": context.Canceled, "closed": closedError(false), "closed-before": closedError(true),
		"read-only": errReadOnly, "final": final("%w", errPasses), "file": fmt.Errorf("%w: %w", errFile, stateError("42501")),
		"unknown-variable": &mysql.MySQLError{Number: 1105, Message: "Unknown system variable 'sync_binlog'"},
	}
	n, err := strconv.Atoi(word)
	text, network := strings.CutPrefix(strings.ReplaceAll(word, "_", " "), "net:")
	switch {
	case named[word] != nil:
		return named[word]
	case dialect == "pgx":
		return stateError(word)
	case network:
		return networkError{errors.New(text)}
	case err != nil:
		return errors.New(text)
	case dialect == "mysql":
		return &mysql.MySQLError{Number: uint16(n), Message: "message"}
	}
	return codeError(n)
}

// opened returns fields of the Config of a text, or its error, which must not show the password.
func opened(t *testing.T, text string, fields func(*mysql.Config) string) string {
	cfg, err := ParseMySQL(text)
	db, errOpen := OpenMySQL(text)
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
