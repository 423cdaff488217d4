package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// newRoot returns the whole command. Each constructor makes one part of it.
func newRoot(s *streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "uidring",
		Short: "Read, plan and serve unique IDs, and look after the worker IDs that they are made with",
		Long: "uidring reads, plans and serves unique IDs, and looks after the worker IDs that they are made with.\n\n" +
			"Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not confirmed, 130 interrupted.",
		Example: "  uidring parse 176636547297255431\n" +
			"  uidring range --from 2026-11-21 --to 2026-11-22\n" +
			"  uidring plan --rate 50000 --processes 40 --restarts-per-day 80 --years 10",
		Version:       readBuild().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,

		PersistentPreRunE: readEnvironment,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, cmd.CommandPath())
	})
	for _, newCommand := range []func(*streams) *cobra.Command{newParse, newRange, newPlan, newSchema, newWorkers, newServe, newVersion} {
		root.AddCommand(newCommand(s))
	}
	checkCompletion(root)
	return root
}

// checkCompletion has cobra's own command refuse a shell that it does not know, in place of printing help where a script is expected.
func checkCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic("bug: " + err.Error())
	}
	completion.Args = knownCommand
	completion.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	for _, shell := range completion.Commands() {
		shell.Args = exactly(0, "none")
	}
}

// knownCommand is for a command that has others below it: what it is given is none of them.
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

// exactly takes a number of arguments, which the text names.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%d arguments, allowed: %s; see %s --help", len(args), what, cmd.CommandPath())
		}
		return nil
	}
}
