package cli

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// newRoot returns the whole command. Each constructor returns one subcommand.
func newRoot(s *streams) *cobra.Command {
	root := group(&cobra.Command{
		Use:   "uidring",
		Short: "Parse, plan and serve unique IDs, and administer worker IDs",
		Long: "uidring parses, plans and serves unique IDs, and administers the worker IDs in them.\n\n" +
			"Exit codes: 0 done, 1 failed, 64 wrong usage, 3 not confirmed, 4 not above, 130 interrupted.",
		Example: "  uidring serve\n" +
			"  uidring parse 22079567884713991\n" +
			"  uidring range --from 2026-11-21 --to 2026-11-22\n" +
			"  uidring plan --rate 50000 --processes 40 --years 10",
		Version:       version() + ", " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH,
		SilenceUsage:  true,
		SilenceErrors: true,

		PersistentPreRunE: s.readSettings,
	}, newParse(s), newRange(s), newPlan(s), newMigrate(s), newSchema(s), newWorkers(s), newServe(s))
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return allowed(err) })
	root.Args = nil // cobra then rejects unknown commands with the names of similar ones
	root.SetHelpTemplate("{{reflow (or .Long .Short)}}\n\n{{.UsageString}}")
	root.SetUsageTemplate(strings.NewReplacer(".FlagUsages ", ".FlagUsagesWrapped 80 ",
		"{{if .HasAvailableInheritedFlags}}", "{{with .Annotations.stores}}\n\nURLs of stores:\n  {{.}}{{end}}{{if .HasAvailableInheritedFlags}}").
		Replace(root.UsageTemplate()))
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	return root
}

func init() { cobra.AddTemplateFunc("reflow", reflow) }

// reflow wraps the paragraphs of a help text at 80 columns, as the flags are.
func reflow(text string) string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		line := ""
		for word := range strings.FieldsSeq(paragraph) {
			if len(line)+len(word) >= 80 {
				lines, line = append(lines, line), ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		lines = append(lines, line, "")
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// group adds commands to a command that only prints its help.
func group(cmd *cobra.Command, commands ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
	return cmd
}

// version returns the version of the module, which names the commit between two releases.
func version() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return "(devel)"
	}
	return cmp.Or(info.Main.Version, "(devel)")
}
