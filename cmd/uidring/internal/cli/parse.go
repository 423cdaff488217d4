package cli

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cmd/uidring/internal/idtext"
)

func newParse(s *streams) *cobra.Command {
	var format idFormat
	p := parser{streams: s, form: idtext.Auto}
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
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			if p.alloc, err = format.allocator(); err != nil {
				return err
			}
			return p.run(args)
		},
	}
	format.addTo(cmd)
	cmd.Flags().Var(&p.form, "form", "text form of the IDs: auto, decimal, base32, base62")
	s.addJSON(cmd)
	return cmd
}

// A parser is one call of uidring parse.
type parser struct {
	*streams
	alloc *bitsalloc.Allocator
	form  idtext.Form

	headed bool // the names of the columns are printed
	bad    bool // a text was not an ID
}

func (p *parser) run(args []string) error {
	for i, arg := range args {
		var err error
		if arg == "-" {
			err = p.eachLine(func(number int, line string) error { return p.one(line, fmt.Sprintf("line %d", number)) })
		} else {
			err = p.one(arg, fmt.Sprintf("argument %d", i+1))
		}
		if err != nil {
			return err
		}
	}
	if p.bad {
		return errReported
	}
	return nil
}

// one prints an ID at once, for a pipe that waits for the answer, or reports a text that is not an
// ID. An error ends the command.
func (p *parser) one(text, where string) error {
	id, err := p.form.Read(text)
	if err != nil && strings.HasPrefix(text, "-") {
		err = fmt.Errorf("%w; uidring migrate check reads the negative IDs of Java services", err)
	}
	var fields bitsalloc.Fields
	if err == nil {
		fields, err = p.alloc.Parse(int64(id))
	}
	if err != nil {
		p.bad = true
		p.complain(errors.New(where + ": " + strings.TrimPrefix(err.Error(), "uidring: ")))
		return nil
	}
	return p.printFields(idtext.Of(fields))
}

func (p *parser) printFields(id idtext.Fields) error {
	if p.json {
		return p.printJSON(id)
	}
	const row = "%-19v  %-13v  %-11v  %-24v  %-13v  %-10v  %-8v  %v\n" // fields of all presets fit
	if !p.headed {
		p.headed = true
		if err := write(p.out, row, "ID", "BASE32", "BASE62", "TIME", "DELTA", "DATACENTER", "WORKER", "SEQUENCE"); err != nil {
			return err
		}
	}
	return write(p.out, row, id.ID, id.Base32, id.Base62, id.Time.Format(time.RFC3339Nano), id.Delta, id.Datacenter, id.Worker, id.Sequence)
}
