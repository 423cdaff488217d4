package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
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

// A setting is a flag and the source of its value.
type setting struct {
	flag *pflag.Flag
	from source
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

// A choice is the value of a flag with a fixed list of values.
type choice struct {
	value   string
	allowed []string
}

func (c *choice) String() string { return c.value }

func (c *choice) Type() string { return "string" }

func (c *choice) Set(text string) error {
	if !slices.Contains(c.allowed, text) {
		return fmt.Errorf("allowed: %s", strings.Join(c.allowed, ", "))
	}
	c.value = text
	return nil
}

// resolve sets every flag that is not on the command line from the environment, or else from the
// file that the flag config names. It returns each setting with its source, and reports all
// mistakes at once. An empty variable counts as unset.
func resolve(flags *pflag.FlagSet) ([]setting, error) {
	v := viper.New()
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		errs = append(errs, v.BindPFlag(f.Name, f), v.BindEnv(append([]string{f.Name}, variables(f.Name)...)...))
	})
	file := v.GetString("config")
	errs = append(errs, readFile(v, file, flags))
	var settings []setting
	flags.VisitAll(func(f *pflag.Flag) {
		s := setting{f, byDefault}
		inEnv, _ := lookUp(variables(f.Name))
		switch {
		case f.Name == "help":
			return
		case f.Changed:
			s.from = onCommandLine
		case inEnv != "":
			s.from = inEnvironment
		case v.InConfig(f.Name):
			s.from = inFile
		}
		if s.from == inEnvironment || s.from == inFile {
			if err := set(f, v.Get(f.Name)); err != nil {
				errs = append(errs, fmt.Errorf("%s from the %v: %w", f.Name, s.from, err))
			}
		}
		settings = append(settings, s)
	})
	return settings, errors.Join(errs...)
}

// readFile reads the settings file. It rejects keys that are not settings.
func readFile(v *viper.Viper, file string, flags *pflag.FlagSet) error {
	if file == "" {
		return nil
	}
	if !slices.Contains([]string{".yaml", ".yml", ".toml"}, filepath.Ext(file)) {
		return fmt.Errorf("config %s, allowed: a file whose name ends in .yaml, .yml or .toml", file)
	}
	v.SetConfigFile(file)
	if err := v.ReadInConfig(); err != nil {
		return fmt.Errorf("config %s: %w", file, err)
	}
	switch {
	case v.InConfig("store") && v.InConfig("dsn"):
		return fmt.Errorf("config %s: store and dsn, allowed: store alone; dsn is its former name", file)
	case v.InConfig("dsn"):
		v.RegisterAlias("dsn", "store")
	}
	var errs []error
	for _, key := range slices.Sorted(slices.Values(v.AllKeys())) {
		if flags.Lookup(key) == nil || v.InConfig(key) && (key == "config" || key == "help") {
			errs = append(errs, fmt.Errorf("config %s: unknown setting %q, allowed: the flags of uidring serve without their dashes", file, key))
		}
	}
	return errors.Join(errs...)
}

// set sets a flag to a value that viper has read.
func set(f *pflag.Flag, value any) error {
	text := fmt.Sprint(value)
	switch value := value.(type) {
	case time.Time: // YAML reads 2026-01-01 as a time
		text = value.Format(time.RFC3339Nano)
	case []any, map[string]any:
		return errors.New("several values, allowed: one")
	}
	_, isText := value.(string)
	_, hasFew := f.Value.(*choice)                        // 1.2 needs no quotes
	if !isText && !hasFew && f.Value.Type() == "string" { // YAML reads 007 as 7 and 1.10 as 1.1: another namespace
		return fmt.Errorf("%s is not text, allowed: text; put it into quotes", text)
	}
	if err := f.Value.Set(text); err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	return nil
}
