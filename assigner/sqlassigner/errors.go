package sqlassigner

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Errors of the database that a caller may want to tell apart. They come wrapped together with the
// driver's own error, in a text that says what to do.
var (
	// ErrUnreachable: no connection to the server could be made or kept until the context ended.
	ErrUnreachable = errors.New("sqlassigner: database unreachable")
	// ErrAccessDenied: the server refuses the user, the password, or the user's right to a table.
	ErrAccessDenied = errors.New("sqlassigner: access denied")
	// ErrTableMissing: a table of package schema, or the database it belongs into, does not exist.
	ErrTableMissing = errors.New("sqlassigner: table missing")
	// ErrTableTwin: two tables have the name of one of package schema, but for letter case or for
	// the schema of PostgreSQL that they are in, or the only one has another letter case.
	ErrTableTwin = errors.New("sqlassigner: table in two places")
	// ErrKeyNotReturned: the database stored a row of WORKER_NODE but did not return a positive key
	// for it.
	ErrKeyNotReturned = errors.New("sqlassigner: key not returned")
	// ErrUnknownDriver: the driver name of the handle is of no database that this package knows.
	ErrUnknownDriver = errors.New("sqlassigner: unknown driver")
)

// errReadOnly: the server takes no writes, as during a failover.
var errReadOnly = errors.New("the server is read-only")

// A diagnosis is what an error means to us. The zero value is an error that we know nothing about.
type diagnosis struct {
	sentinel  error  // what errors.Is is to find; may be nil
	advice    string // what to do
	passes    bool   // whether trying again may help
	elsewhere bool   // whether it has to be tried on another connection
	undone    bool   // whether the statement surely had no effect
	exists    bool   // whether the row was there already
}

// explain words the error that ended a call.
func (s *store) explain(ctx context.Context, what string, tries int, err error) error {
	if v, ok := errors.AsType[verdict](err); ok {
		return renamed{v.error, s.tables.inText(v.error.Error())}
	}
	d := s.dialect.diagnose(err)
	if d.sentinel == ErrTableMissing && d.advice == "" {
		d.advice = s.missingTable(err)
	}
	if d.advice != "" {
		d.advice = "; " + s.tables.inText(d.advice)
	}
	what = s.tables.inText(what)
	if tries > 1 {
		what = fmt.Sprintf("%s (%d tries)", what, tries)
	}
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		err = fmt.Errorf("%w (%w)", err, ended)
	}
	if d.sentinel == nil {
		return fmt.Errorf("sqlassigner: cannot %s: %w%s", what, err, d.advice)
	}
	return fmt.Errorf("%w: cannot %s: %w%s", d.sentinel, what, err, d.advice)
}

// A verdict is an error that no retry changes and that is worded already: it begins with a sentinel
// of package assigner or of this one.
type verdict struct{ error }

func (v verdict) Unwrap() error { return v.error }

func final(format string, args ...any) error { return verdict{fmt.Errorf(format, args...)} }

// missingTable says which file brings the table that the database's error text names.
func (s *store) missingTable(err error) string {
	files := s.dialect.files()
	file := files[0]
	for _, f := range files {
		for _, table := range created(f.SQL) {
			if strings.Contains(strings.ToLower(err.Error()), strings.ToLower(s.tables.stored[table])) {
				file = f
			}
		}
	}
	if s.cfg.TableName != nil {
		return fmt.Sprintf("create it with sqlassigner.Apply and the same Config.TableName, after schema/%s", file.Name)
	}
	return fmt.Sprintf("create it with "+s.dialect.client+" or with sqlassigner.Apply", file.Name)
}
