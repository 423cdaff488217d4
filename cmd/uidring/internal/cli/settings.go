package cli

import (
	"cmp"
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

// settingsOfAll are the flags that may take their values from the environment in every command.
// serve takes all of its flags from there, too.
var settingsOfAll = []string{"store", "namespace", "layout", "epoch"}

// settingNames has the names of settings for the fields that errors and log records of the library
// name.
var settingNames = strings.NewReplacer("LeaseConfig.FirstWorkerID", "first-worker-id", "FirstWorkerID", "first-worker-id", "DatacenterID", "datacenter",
	"AllowUndurable", "allow-undurable", "MaxAhead", "max-ahead", "Layout ", "layout ", "Layout,", "layout,", "Epoch", "epoch", "more DeltaBits", "more delta bits")

// variable returns the environment variable of a flag: UIDRING_TLS_CERT for tls-cert.
func variable(flag string) string {
	return "UIDRING_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// readSettings sets every setting that is not on the command line from the environment. It reports
// all mistakes at once, and warns of unknown variables. An empty variable counts as unset. Errors
// show rejected values: the URL of a store accepts any text, so an error never shows a password.
func (s *streams) readSettings(cmd *cobra.Command, _ []string) (err error) {
	flags := cmd.Flags()
	flags.VisitAll(func(f *pflag.Flag) {
		text := os.Getenv(variable(f.Name))
		if f.Changed || text == "" || cmd.Name() != "serve" && !slices.Contains(settingsOfAll, f.Name) {
			return
		}
		if errSet := flags.Set(f.Name, text); errSet != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", variable(f.Name), allowed(errSet)))
		}
	})
	if err = errors.Join(err, cmd.ValidateRequiredFlags()); err != nil {
		return err
	}
	s.began = true
	if names := unknownVariables(cmd.Root(), os.Environ()); names != nil {
		return write(s.err, "uidring: warning: unknown variables %s; see uidring serve --help\n", strings.Join(names, ", "))
	}
	return nil
}

// allowed returns the error for a wrong value of a flag with the values that the flag allows, where
// the error of the standard library does not name them.
func allowed(err error) error {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	f := wrong.GetFlag()
	values := map[string]string{"float64": "a number", "int": "a whole number", "int64": "a whole number", "bool": "true, false",
		"duration": "a duration such as 90s, 5m or 1h30m", "log-level": "debug, info, warn, error"}
	if text := cmp.Or(values[f.Name], values[f.Value.Type()]); text != "" {
		return fmt.Errorf("invalid argument %q for %q flag: allowed: %s", wrong.GetValue(), "--"+f.Name, text)
	}
	return err
}

// serviceLink matches the variables that Kubernetes sets in each pod for a Service whose name
// begins with uidring.
var serviceLink = regexp.MustCompile(`_(SERVICE_(HOST|PORT.*)|PORT(_[0-9]+_(TCP|UDP|SCTP).*)?)$`)

// unknownVariables returns the variables that begin with UIDRING_ and are no setting. UIDRING_TOKEN
// is for clients: the page of serve names it.
func unknownVariables(root *cobra.Command, environ []string) (names []string) {
	known := map[string]bool{"UIDRING_TOKEN": true}
	if serve, _, err := root.Find([]string{"serve"}); err == nil { // it has all settings
		serve.Flags().VisitAll(func(f *pflag.Flag) { known[variable(f.Name)] = true })
	}
	for _, text := range environ {
		name, value, _ := strings.Cut(text, "=")
		if strings.HasPrefix(name, "UIDRING_") && value != "" && !known[name] && !serviceLink.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// logSettings logs the settings that are given, without secrets.
func logSettings(logger *slog.Logger, flags *pflag.FlagSet) {
	var given []any
	flags.Visit(func(f *pflag.Flag) {
		value := f.Value.String()
		if f.Name == "store" {
			value = "(not shown)" // it may hold a password
		}
		given = append(given, slog.String(f.Name, value))
	})
	if given != nil {
		logger.Info("settings", given...)
	}
}
