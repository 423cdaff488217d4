package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// streams are the standard streams of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
	json     bool // the flag json
	yes      bool // the flag yes
	began    bool // flags, arguments and variables are valid so far, and the command runs
}

// addJSON adds the flag json to a command.
func (s *streams) addJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.json, "json", false, "print JSON")
}

// print prints a value as JSON with --json, and else calls text with a writer that aligns columns,
// which are separated by tabs.
func (s *streams) print(value any, text func(w io.Writer)) error {
	if s.json {
		return s.printJSON(value)
	}
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	text(w)
	return w.Flush()
}

// printJSON prints a value as one line.
func (s *streams) printJSON(value any) error {
	encoder := json.NewEncoder(s.out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// write writes formatted text.
func write(to io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintf(to, format, args...)
	return err
}

// addYes adds the flag yes to a command.
func (s *streams) addYes(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.yes, "yes", false, "change it; without, say only what would change")
}

// confirm returns errUnconfirmed with the consequence of a command unless --yes is given.
func (s *streams) confirm(consequence string, args ...any) error {
	if s.yes {
		return nil
	}
	return fmt.Errorf("%w: %s; pass --yes to confirm", errUnconfirmed, fmt.Sprintf(consequence, args...))
}

// eachLine calls do with each line of standard input, trimmed, and with its number.
func (s *streams) eachLine(do func(number int, line string) error) error {
	lines := bufio.NewScanner(s.in)
	for number := 1; lines.Scan(); number++ {
		if err := do(number, strings.TrimSpace(lines.Text())); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	return nil
}
