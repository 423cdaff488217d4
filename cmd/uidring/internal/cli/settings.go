package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A setting is a flag that may take its value from the environment, and the source of its value:
// "flag", "environment" or "default".
type setting struct {
	flag *pflag.Flag
	from string
}

// variable is the annotation of a setting: its environment variable, UIDRING_TLS_CERT for tls-cert.
const variable = "environment"

// addSettings makes flags settings, and adds the environment variable to their help.
func addSettings(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flags.Lookup(name).Usage += " (" + addSetting(flags, name) + ")"
	}
}

// addSetting makes a flag a setting, and returns its environment variable.
func addSetting(flags *pflag.FlagSet, name string) string {
	env := "UIDRING_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	if err := flags.SetAnnotation(name, variable, []string{env}); err != nil {
		panic("bug: " + err.Error())
	}
	return env
}

// readSettings resolves the settings of a command, and warns of unknown variables.
func (s *streams) readSettings(cmd *cobra.Command, _ []string) error {
	settings, err := resolve(cmd.Flags())
	if err != nil {
		return usageError{err}
	}
	if names := unknownVariables(cmd.Root(), os.Environ()); names != nil && settings != nil {
		return write(s.err, "%s unknown variables %s; the help of each command names its variables\n",
			s.paint(s.err, yellow, "uidring: warning:"), strings.Join(names, ", "))
	}
	return nil
}

// serviceLink matches the variables that Kubernetes sets in each pod for a Service whose name
// begins with uidring.
var serviceLink = regexp.MustCompile(`_(SERVICE_(HOST|PORT.*)|PORT(_[0-9]+_(TCP|UDP|SCTP).*)?)$`)

// unknownVariables returns the variables that begin with UIDRING_ and are no setting of a command.
// UIDRING_TOKEN is for clients: the page of serve names it.
func unknownVariables(root *cobra.Command, environ []string) (names []string) {
	known := map[string]bool{"UIDRING_TOKEN": true}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			for _, name := range f.Annotations[variable] {
				known[name] = true
			}
		})
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
	for _, text := range environ {
		name, value, _ := strings.Cut(text, "=")
		if strings.HasPrefix(name, "UIDRING_") && value != "" && !known[name] && !serviceLink.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// resolve sets every setting that is not on the command line from the environment. It returns each
// setting with its source, and reports all mistakes at once. An empty variable counts as unset.
// Errors show rejected values: the URL of a store accepts any text, so an error never shows a
// password.
func resolve(flags *pflag.FlagSet) (settings []setting, err error) {
	flags.VisitAll(func(f *pflag.Flag) {
		names := f.Annotations[variable]
		if names == nil {
			return
		}
		from := sourceOf(f)
		if from == "environment" {
			text := os.Getenv(names[0])
			if errSet := f.Value.Set(text); errSet != nil {
				err = errors.Join(err, fmt.Errorf("%s %w", names[0], rejected(f, text, errSet)))
			}
		}
		settings = append(settings, setting{f, from})
	})
	return settings, err
}

// sourceOf returns the source of a setting.
func sourceOf(f *pflag.Flag) string {
	switch {
	case f.Changed:
		return "flag"
	case os.Getenv(f.Annotations[variable][0]) != "":
		return "environment"
	}
	return "default"
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

// logSettings logs the settings that are given, without secrets, in one record per source.
func logSettings(logger *slog.Logger, settings []setting) {
	for _, from := range []string{"flag", "environment"} {
		given := []any{slog.String("from", from)}
		for _, s := range settings {
			value := s.flag.Value.String()
			if s.flag.Name == "store" && value != "" {
				value = "(not shown)" // it may hold a password
			}
			if s.from == from {
				given = append(given, slog.String(s.flag.Name, value))
			}
		}
		if len(given) > 1 {
			logger.Info("settings", given...)
		}
	}
}
