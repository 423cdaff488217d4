package sqlassigner

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// tables maps the names of package schema to the names in the database.
type tables struct {
	stored map[string]string
	quote  string         // of an identifier
	word   *regexp.Regexp // a name in package schema, or a longer word that starts with one
}

// newTables applies Config.TableName to the names of package schema. Its error lists all names that
// are not allowed.
func newTables(cfg Config, d dialect) (tables, error) {
	rename := cfg.TableName
	if rename == nil {
		rename = d.fold
	}
	allowed := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}$`)
	t := tables{make(map[string]string), d.quote, regexp.MustCompile(`\b(?:WORKER|ID)_[A-Z_]+\b`)}
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

// inSQL replaces the names of package schema in a statement by the quoted names in the database.
func (t tables) inSQL(text string) string {
	return t.word.ReplaceAllStringFunc(text, func(word string) string {
		if stored, ok := t.stored[word]; ok {
			return t.quote + stored + t.quote
		}
		return word
	})
}

// inText replaces the names of package schema in an error text by the names in the database.
func (t tables) inText(text string) string {
	return t.word.ReplaceAllStringFunc(text, func(word string) string {
		if stored, ok := t.stored[word]; ok {
			return stored
		}
		return word
	})
}

// names returns the names in the database.
func (t tables) names(group []string) []string {
	names := make([]string, len(group))
	for i, name := range group {
		names[i] = t.stored[name]
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
