package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// streams are the standard streams of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
	tables   bool // print aligned columns with a header, else tab-separated lines
	json     bool // the flag json
}

// addJSON adds the flag json to a command.
func (s *streams) addJSON(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.json, "json", false, "print JSON")
}

// print prints a value as JSON with --json, and else calls text.
func (s *streams) print(value any, text func() error) error {
	if s.json {
		return writeJSON(s.out, value)
	}
	return text()
}

// terminal reports whether a stream is a terminal.
func terminal(stream any) bool {
	file, ok := stream.(interface{ Fd() uintptr })
	return ok && isatty.IsTerminal(file.Fd())
}

// The colours of a terminal.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// paint colours a text if the stream is a terminal, unless NO_COLOR or TERM=dumb is set; see
// no-color.org.
func (s *streams) paint(to io.Writer, colour, text string) string {
	if !terminal(to) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// write writes formatted text.
func write(to io.Writer, format string, args ...any) error {
	if _, err := fmt.Fprintf(to, format, args...); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// writeJSON writes a value as one line.
func writeJSON(to io.Writer, value any) error {
	encoder := json.NewEncoder(to)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// confirm calls about, which prints the details, and asks a question on the terminal. It returns
// errUnconfirmed unless the answer is yes, or when stdin is not a terminal: scripts pass --yes.
func (s *streams) confirm(question string, about func() error) error {
	if !terminal(s.in) {
		return fmt.Errorf("%w: standard input is not a terminal; pass --yes to confirm", errUnconfirmed)
	}
	if err := about(); err != nil {
		return err
	}
	if err := write(s.err, "%s [y/N] ", question); err != nil {
		return err
	}
	answer, err := bufio.NewReader(s.in).ReadString('\n')
	if err != nil && err != io.EOF {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errUnconfirmed
}

// eachLine calls line with the place and the text of each line of standard input that is not blank,
// or with an error for a line that is too long. It calls flush before it waits for input.
func (s *streams) eachLine(flush func() error, line func(where, text string, err error) error) error {
	in := bufio.NewReader(s.in)
	for number := 1; ; number++ {
		if in.Buffered() == 0 {
			if err := flush(); err != nil {
				return err
			}
		}
		text, err := readLine(in)
		where := fmt.Sprintf("line %d", number)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, bufio.ErrBufferFull):
			err = errors.New("longer than 4,096 bytes, allowed: one ID per line")
		case err != nil:
			return fmt.Errorf("read standard input, %s: %w", where, err)
		}
		if text = bytes.TrimSpace(text); len(text) == 0 && err == nil {
			continue
		}
		if err := line(where, string(text), err); err != nil {
			return err
		}
	}
}

// readLine returns a line, valid until the next call. It skips a line that is too long, and returns
// bufio.ErrBufferFull for it.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, io.EOF) && len(line) > 0 {
		return line, nil
	}
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice('\n')
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return nil, bufio.ErrBufferFull
}
