package sqlassigner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/schema"
)

// Errors of the database. Each is wrapped together with the driver's own error, in a text that
// names the remedy.
var (
	// ErrUnreachable: no connection to the server could be made or kept until the context ended.
	ErrUnreachable = errors.New("sqlassigner: database unreachable")
	// ErrAccessDenied: the server refuses the user, the password, or the user's right to a table.
	ErrAccessDenied = errors.New("sqlassigner: access denied")
	// ErrTableMissing: a table of package schema, or its database, does not exist.
	ErrTableMissing = errors.New("sqlassigner: table missing")
	// ErrTableTwin: two tables of the database differ only in letter case or, within PostgreSQL's
	// search path, in schema from one name of package schema; or the only such table has another
	// letter case.
	ErrTableTwin = errors.New("sqlassigner: table in two places")
	// ErrKeyNotReturned: the database stored a row of WORKER_NODE but did not return a positive key
	// for it.
	ErrKeyNotReturned = errors.New("sqlassigner: key not returned")
	// ErrNoCounter: the table of a Java deployment has no row for a counter of package segment.
	ErrNoCounter = errors.New("sqlassigner: no such counter")
	// ErrUnknownDriver: the driver name of the handle belongs to no database that this package
	// supports.
	ErrUnknownDriver = errors.New("sqlassigner: unknown driver")
)

// errReadOnly: the server takes no writes, as during a failover.
var errReadOnly = errors.New("the server is read-only")

// A diagnosis classifies an error of the database. The zero value stands for an unknown error.
type diagnosis struct {
	sentinel error  // the sentinel to wrap; may be nil
	advice   string // the remedy, for the error text
	passes   bool   // a retry may succeed
	undone   bool   // the statement certainly had no effect
	exists   bool   // the row existed already
}

// explain words the error that ended a call.
func (s *store) explain(ctx context.Context, what string, tries int, err error) error {
	if v, ok := errors.AsType[verdict](err); ok {
		return v.error
	}
	d := s.dialect.diagnose(err)
	if d.sentinel == ErrTableMissing && d.advice == "" {
		name, group := inSchema.FindString(strings.ToUpper(err.Error())), schema.Nodes
		for _, t := range tablesOf(schema.Groups()...) {
			if t.name == name {
				group = t.group
			}
		}
		d.advice = "create it with " + s.dialect.creation(group)
	}
	if d.advice != "" {
		d.advice = "; " + d.advice
	}
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

// A verdict is a final error that is complete: it is not retried, and its text begins with a
// sentinel of package assigner or of this package.
type verdict struct{ error }

func (v verdict) Unwrap() error { return v.error }

func final(format string, args ...any) error { return verdict{fmt.Errorf(format, args...)} }

func notDurable(format string, args ...any) error {
	return final("%w: "+format, append([]any{leasestore.ErrNotDurable}, args...)...)
}
