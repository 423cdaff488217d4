package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// A source is the origin of a setting, in order of precedence.
type source int

const (
	onCommandLine source = iota
	inEnvironment
	inFile
	byDefault
)

func (s source) String() string { return [...]string{"flag", "environment", "file", "default"}[s] }

// A setting is a flag that may take its value from the environment or a file, and the source of its
// value.
type setting struct {
	flag *pflag.Flag
	from source
}

// variables is the annotation of a setting: its environment variables, UIDRING_TLS_CERT for
// tls-cert. The first variable that is set and not empty applies.
const variables = "environment"

// addSettings makes flags settings, and adds the environment variable to their help.
func addSettings(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flags.Lookup(name).Usage += " (" + addSetting(flags, name) + ")"
	}
}

// addSetting makes a flag a setting, and returns its environment variable.
func addSetting(flags *pflag.FlagSet, name string) string {
	all := []string{"UIDRING_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))}
	if name == "store" {
		all = append(all, "UIDRING_DSN")
	}
	if err := flags.SetAnnotation(name, variables, all); err != nil {
		panic("bug: " + err.Error())
	}
	return all[0]
}

// currentName maps dsn, the former name of the flag store, to store. Both names keep working.
func currentName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "dsn" {
		name = "store"
	}
	return pflag.NormalizedName(name)
}

// readSettings resolves the settings of a command.
func readSettings(cmd *cobra.Command, _ []string) error {
	if _, err := resolve(cmd.Flags()); err != nil {
		return usageError{err}
	}
	return nil
}

// resolve sets every setting that is not on the command line from the environment, or else from the
// file that the flag config names, if the command has it. It returns each setting with its source,
// and reports all mistakes at once. An empty variable counts as unset. Errors show rejected values:
// the URL of a store accepts any text, so an error never shows a password.
func resolve(flags *pflag.FlagSet) (settings []setting, err error) {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[variables] == nil {
			return
		}
		from, name, text := sourceOf(f)
		if from == inEnvironment {
			if err := f.Value.Set(text); err != nil {
				errs = append(errs, fmt.Errorf("%s %w", name, rejected(f, text, err)))
			}
		}
		settings = append(settings, setting{f, from})
	})
	if config := flags.Lookup("config"); config != nil && config.Value.String() != "" {
		file := config.Value.String()
		for _, err := range readFile(file, settings) {
			errs = append(errs, fmt.Errorf("config %s: %w", file, err))
		}
	}
	return settings, errors.Join(errs...)
}

// sourceOf returns the source of a setting without regard to a file. For inEnvironment it also
// returns the variable and its value.
func sourceOf(f *pflag.Flag) (from source, name, value string) {
	if f.Changed {
		return onCommandLine, "", ""
	}
	for _, name := range f.Annotations[variables] {
		if value := os.Getenv(name); value != "" {
			return inEnvironment, name, value
		}
	}
	return byDefault, "", ""
}

// readFile sets the settings that have no other source from a file. It rejects unknown keys.
func readFile(file string, settings []setting) (errs []error) {
	values, err := decodeFile(file)
	if err != nil {
		return []error{err}
	}
	if values["store"] != nil && values["dsn"] != nil {
		return []error{errors.New("store and dsn, allowed: store alone; dsn is its former name")}
	}
	for key, value := range values {
		i := slices.IndexFunc(settings, func(s setting) bool { return s.flag.Name == string(currentName(nil, key)) })
		switch {
		case i < 0 || key == "config":
			errs = append(errs, fmt.Errorf("unknown setting %q, allowed: the flags of uidring serve without their dashes", key))
		case settings[i].from == byDefault:
			settings[i].from = inFile
			if err := set(settings[i].flag, value); err != nil {
				errs = append(errs, fmt.Errorf("%s %w", key, err))
			}
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// decodeFile reads a file of YAML or TOML.
func decodeFile(file string) (values map[string]any, err error) {
	decode, ok := map[string]func([]byte, any) error{".yaml": yaml.Unmarshal, ".yml": yaml.Unmarshal, ".toml": toml.Unmarshal}[filepath.Ext(file)]
	if !ok {
		return nil, errors.New("allowed: a file whose name ends in .yaml, .yml or .toml")
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = decode(text, &values)
	}
	return values, err
}

// set sets a flag to a value of a file.
func set(f *pflag.Flag, value any) error {
	text := fmt.Sprint(value)
	switch value := value.(type) {
	case time.Time: // YAML reads 2026-01-01 as a time
		text = value.Format(time.RFC3339Nano)
	case []any, map[string]any:
		return errors.New("has several values, allowed: one")
	case nil:
		return errors.New("has no value, allowed: one")
	}
	_, isText := value.(string)
	_, hasFew := f.Value.(*choice)                        // 1.2 needs no quotes
	if !isText && !hasFew && f.Value.Type() == "string" { // YAML reads 007 as 7 and 1.10 as 1.1: another namespace
		return fmt.Errorf("%s is not text, allowed: text; put it into quotes", text)
	}
	if err := f.Value.Set(text); err != nil {
		return rejected(f, text, err)
	}
	return nil
}

// rejected returns the error for a value of a flag. Errors of the flags of this package name the
// allowed values; errors of package strconv do not.
func rejected(f *pflag.Flag, text string, err error) error {
	allowed := map[string]string{
		"bool": "true or false", "int": "a whole number", "int64": "a whole number", "float64": "a number",
		"duration": "a number with a unit, such as 30s, 5m or 1h30m",
	}[f.Value.Type()]
	if allowed == "" {
		return fmt.Errorf("%q: %w", text, err)
	}
	return fmt.Errorf("%q, allowed: %s", text, allowed)
}

// logSettings logs one record per source, without secrets.
func logSettings(logger *slog.Logger, settings []setting) {
	for from := onCommandLine; from <= byDefault; from++ {
		var applies []any
		for _, s := range settings {
			value := s.flag.Value.String()
			if s.flag.Name == "store" && value != "" {
				value = "(not shown)" // it may hold a password
			}
			if s.from == from {
				applies = append(applies, slog.String(s.flag.Name, value))
			}
		}
		if len(applies) > 0 {
			logger.Info("settings", append([]any{slog.String("from", from.String())}, applies...)...)
		}
	}
}
