package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// fromEnvironment is the annotation of a flag whose value may come from a variable, such as
// UIDRING_DSN.
const fromEnvironment = "environment"

// orEnvironment lets a variable say what a flag does not. One that is empty counts as one that is
// not there.
func orEnvironment(cmd *cobra.Command, flag string) {
	if err := cmd.Flags().SetAnnotation(flag, fromEnvironment, []string{"UIDRING_" + strings.ToUpper(flag)}); err != nil {
		panic("bug: " + err.Error())
	}
}

// readEnvironment gives its value to each flag that is not on the command line. A flag that takes
// any text, as one for a URL with a password does, has no error that would show it.
func readEnvironment(cmd *cobra.Command, _ []string) error {
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		for _, name := range f.Annotations[fromEnvironment] {
			if text := os.Getenv(name); text != "" && !f.Changed {
				if err := f.Value.Set(text); err != nil {
					errs = append(errs, fmt.Errorf("%s %q: %w", name, text, err))
				}
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return usageError{err}
	}
	return nil
}
