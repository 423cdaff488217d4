package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uidring/internal/idtext"
)

func newParse(s *streams) *cobra.Command {
	var format idFormat
	form := idtext.Auto
	cmd := &cobra.Command{
		Use:   "parse {ID... | -}",
		Short: "Print the fields of IDs",
		Long: "parse prints the fields of IDs given in decimal, in base32 (13 characters) or in base62 (11 characters). The argument - reads\n" +
			"standard input, one ID per line.\n\n" +
			"parse recognizes the form of each text. 11 or 13 digits that do not begin with 0 are ambiguous, and rejected: choose with --form.\n" +
			"parse reports each text that is not an ID of the layout on stderr, prints the others, and exits with code 1.",
		Example: "  uidring parse 176636547297255431\n" +
			"  uidring parse 04WWA04002807 0D2zpT7hYBT\n" +
			"  mysql -N -e 'SELECT id FROM orders' | uidring parse --json -\n" +
			"  uidring parse --layout snowflake --epoch 2010-11-04T01:42:54.657Z 1541815603606036480",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("no arguments, allowed: IDs, or - for standard input; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			alloc, err := format.allocator()
			if err != nil {
				return err
			}
			p := &parser{s: s, alloc: alloc, form: form, out: bufio.NewWriter(s.out)}
			p.rows = s.table("ID", "BASE32", "BASE62", "TIME", "DELTA", "DATACENTER", "WORKER", "SEQUENCE")
			return p.run(args)
		},
	}
	format.addTo(cmd)
	cmd.Flags().Var(&form, "form", "text form of the IDs: auto, decimal, base32, base62")
	s.addJSON(cmd)
	_ = cmd.RegisterFlagCompletionFunc("form", cobra.FixedCompletions([]cobra.Completion{"auto", "decimal", "base32", "base62"},
		cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// A parser is one call of uidring parse. It keeps a single line of standard input in memory.
type parser struct {
	s     *streams
	alloc *bitsalloc.Allocator
	form  idtext.Form
	out   *bufio.Writer

	rows *table // of the arguments
	bad  bool   // a text was not an ID
}

func (p *parser) run(args []string) error {
	for i, arg := range args {
		var err error
		if arg == "-" {
			err = p.s.eachLine(p.flush, p.line)
		} else {
			err = p.one(arg, "argument "+strconv.Itoa(i+1), p.s.tables)
		}
		if err != nil {
			return err
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	if len(p.rows.rows) > 0 {
		if err := p.rows.print(); err != nil {
			return err
		}
	}
	if p.bad {
		return errReported
	}
	return nil
}

func (p *parser) flush() error {
	if err := p.out.Flush(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

func (p *parser) line(where, text string, err error) error {
	if err != nil {
		p.report(where, err)
		return nil
	}
	return p.one(text, where, false)
}

// one prints an ID, if inTable with the other arguments at the end, or reports a text that is not
// an ID. An error ends the command.
func (p *parser) one(text, where string, inTable bool) error {
	id, err := p.form.Read(text)
	if err != nil {
		if strings.HasPrefix(text, "-") {
			err = fmt.Errorf("%w; uidring migrate check reads the negative IDs of Java services", err)
		}
		p.report(where, err)
		return nil
	}
	fields, err := p.alloc.Parse(int64(id))
	if err != nil {
		p.report(where, err)
		return nil
	}
	return p.print(idtext.Of(fields), inTable)
}

func (p *parser) report(where string, err error) {
	p.bad = true
	_ = p.out.Flush() // keeps stdout and stderr in order; the writer returns an error again later
	// complain adds the prefix.
	p.s.complain(errors.New(where + ": " + strings.TrimPrefix(err.Error(), "uidring: ")))
}

// print writes a row.
func (p *parser) print(id idtext.Fields, inTable bool) error {
	if p.s.json {
		return writeJSON(p.out, id)
	}
	clock := "2006-01-02T15:04:05Z"
	if p.alloc.Layout().Unit%time.Second != 0 || p.alloc.Epoch().Nanosecond() != 0 {
		clock = "2006-01-02T15:04:05.000Z"
	}
	cells := []string{id.ID.String(), id.Base32, id.Base62, id.Time.Format(clock),
		decimalText(id.Delta), decimalText(id.Datacenter), decimalText(id.Worker), decimalText(id.Sequence)}
	if inTable {
		p.rows.row(cells...)
		return nil
	}
	return write(p.out, "%s\n", strings.Join(cells, "\t"))
}

func decimalText(n int64) string { return strconv.FormatInt(n, 10) }
