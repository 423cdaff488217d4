package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// fromEnvironment is the annotation of a flag that may take its value from environment variables,
// such as UIDRING_STORE.
const fromEnvironment = "environment"

// currentName maps dsn, the former name of the flag store, to store. Both names keep working.
func currentName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "dsn" {
		name = "store"
	}
	return pflag.NormalizedName(name)
}

// variables returns the environment variables of a flag, UIDRING_TLS_CERT for tls-cert. The first
// variable that is set and not empty applies.
func variables(flag string) []string {
	names := []string{"UIDRING_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))}
	if flag == "store" {
		names = append(names, "UIDRING_DSN")
	}
	return names
}

// lookUp returns the first variable that is set and not empty with its value, or "" and "".
func lookUp(names []string) (name, value string) {
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// orEnvironment marks a flag for readEnvironment.
func orEnvironment(cmd *cobra.Command, flag string) {
	if err := cmd.Flags().SetAnnotation(flag, fromEnvironment, variables(flag)); err != nil {
		panic("bug: " + err.Error())
	}
}

// readEnvironment sets the marked flags that are not on the command line from their environment
// variables. Its errors show the rejected value. The URL of a store accepts any text, so an error
// never shows a password.
func readEnvironment(cmd *cobra.Command, _ []string) error {
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if name, text := lookUp(f.Annotations[fromEnvironment]); name != "" && !f.Changed {
			if err := f.Value.Set(text); err != nil {
				errs = append(errs, fmt.Errorf("%s %q: %w", name, text, err))
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	return nil
}
