package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newRoot returns the whole command. Each constructor returns one subcommand.
func newRoot(s *streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "uidring",
		Short: "Parse, plan and serve unique IDs, and administer worker IDs",
		Long: "uidring parses, plans and serves unique IDs, and administers the worker IDs in them.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not confirmed, 4 not above, 130 interrupted.",
		Example: "  uidring serve\n" +
			"  uidring parse 176636547297255431\n" +
			"  uidring range --from 2026-11-21 --to 2026-11-22\n" +
			"  uidring plan --rate 50000 --processes 40 --restarts-per-day 80 --years 10",
		Version:       readBuild().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,

		PersistentPreRunE: s.readSettings,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			f := invalid.GetFlag()
			err = fmt.Errorf("--%s %w", f.Name, rejected(f, invalid.GetValue(), errors.Unwrap(invalid)))
		}
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && strings.ContainsAny(unknown.GetSpecifiedShortnames(), "0123456789") {
			err = fmt.Errorf("%w; write -- before negative numbers", err)
		}
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	for _, newCommand := range []func(*streams) *cobra.Command{newParse, newRange, newPlan, newMigrate, newSchema, newWorkers, newServe, newVersion} {
		root.AddCommand(newCommand(s))
	}
	return root
}

// knownCommand rejects arguments of a command with subcommands: cobra passes it the name of an
// unknown subcommand.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2 // letters
	advice := "see " + cmd.CommandPath() + " --help"
	if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
		advice = "did you mean " + strings.Join(similar, " or ") + "? " + advice
	}
	return usagef("unknown command %q; %s", args[0], advice)
}

// exactly accepts n arguments. Its error names the allowed arguments.
func exactly(n int, allowed string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("arguments %q, allowed: %s; see %s --help", args, allowed, cmd.CommandPath())
		}
		return nil
	}
}
