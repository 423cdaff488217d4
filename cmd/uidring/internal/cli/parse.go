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
			"standard input, one ID per line. It reports each text that is not an ID of the layout on stderr, prints the others, and exits\n" +
			"with code 1. 11 or 13 digits that do not begin with 0 are ambiguous, and rejected: choose with --form.",
		Example: "  uidring parse 22079567884713991\n" +
			"  uidring parse 00KKH80090007 01d7jAoW61H\n" +
			"  mysql -N -e 'SELECT id FROM orders' | uidring parse --json -\n" +
			"  uidring parse --layout snowflake --epoch 1288834974657 1541815603606036480",
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
	fields, err := p.fields(text)
	if err != nil {
		p.bad = true
		p.complain(errors.New(where + ": " + strings.TrimPrefix(err.Error(), "uidring: ")))
		return nil
	}
	id := idtext.Of(fields)
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

func (p *parser) fields(text string) (bitsalloc.Fields, error) {
	id, err := p.form.Read(text)
	switch {
	case err == nil:
		return p.alloc.Parse(int64(id))
	case strings.HasPrefix(text, "-"):
		err = fmt.Errorf("%w; uidring migrate check reads the negative IDs of Java services", err)
	}
	return bitsalloc.Fields{}, err
}
