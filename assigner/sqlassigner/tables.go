package sqlassigner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/jmoiron/sqlx"
)

// tables maps the names of package schema to the names in the database.
type tables struct {
	stored map[string]string
	quote  string         // of an identifier
	word   *regexp.Regexp // a name in package schema, or a longer word that starts with one
	homes  *homes
}

// homes are the schemas of the tables. Statements name them: a temporary table cannot hide the
// table then, and another search_path leads to no other one. The schema that was found first stays.
type homes struct {
	mu     sync.Mutex
	found  map[string]string // by the name in the database
	absent string            // the schema of a table that was not found; "": statements name none
}

func (h *homes) of(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return cmp.Or(h.found[name], h.absent)
}

// locate asks the database for the schemas of the tables that were not found yet.
func (s *store) locate(ctx context.Context, conn *sqlx.Conn) error {
	h := s.tables.homes
	h.mu.Lock()
	complete := s.dialect.homes == nil || len(h.found) == len(s.tables.stored)
	h.mu.Unlock()
	if complete {
		return nil
	}
	found, absent, err := s.dialect.homes(ctx, conn, slices.Collect(maps.Values(s.tables.stored)))
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.Copy(found, h.found)
	h.found, h.absent = found, absent
	return nil
}

// newTables applies Config.TableName to the names of package schema. Its error lists all names that
// are not allowed.
func newTables(cfg Config, d dialect) (tables, error) {
	rename := cfg.TableName
	if rename == nil {
		rename = d.fold
	}
	allowed := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)
	t := tables{make(map[string]string), d.quote, regexp.MustCompile(`\b(?:WORKER|ID)_[A-Z_]+\b`), &homes{absent: d.schema}}
	var errs []error
	taken := make(map[string]string)
	for _, file := range d.files() {
		for _, name := range created(file.SQL) {
			stored := rename(name)
			switch other, twice := taken[strings.ToLower(stored)]; {
			case !allowed.MatchString(stored):
				errs = append(errs, fmt.Errorf("sqlassigner: Config.TableName(%q) is %q, allowed: 1 to 63 letters, digits and "+
					"underscores, no digit first", name, stored))
			case twice:
				errs = append(errs, fmt.Errorf("sqlassigner: Config.TableName(%q) and (%q) are %q, allowed: a different name for each "+
					"table, not only in case", other, name, stored))
			}
			taken[strings.ToLower(stored)] = name
			t.stored[name] = stored
		}
	}
	return t, errors.Join(errs...)
}

// created returns the names of the tables that a file creates.
func created(text string) []string {
	var names []string
	for rest := range strings.SplitSeq(text, "CREATE TABLE IF NOT EXISTS ") {
		name, _, _ := strings.Cut(rest, " ")
		names = append(names, name)
	}
	return names[1:]
}

// inSQL replaces the names of package schema in a statement by the quoted names in the database,
// with their schemas.
func (t tables) inSQL(text string) string { return t.replace(text, t.full) }

// inText replaces the names of package schema in an error text by the names in the database.
func (t tables) inText(text string) string {
	return t.replace(text, func(name string) string { return name })
}

func (t tables) replace(text string, by func(name string) string) string {
	return t.word.ReplaceAllStringFunc(text, func(word string) string {
		if stored, ok := t.stored[word]; ok {
			return by(stored)
		}
		return word
	})
}

// full returns the quoted name of a table, with its schema.
func (t tables) full(name string) string {
	schema := t.homes.of(name)
	if schema == "" {
		return t.quoted(name)
	}
	return t.quoted(schema) + "." + t.quoted(name)
}

func (t tables) quoted(name string) string {
	return t.quote + strings.ReplaceAll(name, t.quote, t.quote+t.quote) + t.quote
}

// of returns a group with the names in the database. The tables of Java deployments have no others.
func (t tables) of(group []table) []table {
	group = slices.Clone(group)
	for i := range group {
		if stored, ours := t.stored[group[i].name]; ours {
			group[i].name, group[i].full = stored, t.full(stored)
		} else {
			group[i].full = t.quoted(group[i].name)
		}
	}
	return group
}

// names returns the names in the database.
func (t tables) names(group []table) (names []string) {
	for _, table := range t.of(group) {
		names = append(names, table.name)
	}
	return names
}

// renamed is an error with another text, which has the names in the database.
type renamed struct {
	error
	text string
}

func (e renamed) Error() string { return e.text }
func (e renamed) Unwrap() error { return e.error }
