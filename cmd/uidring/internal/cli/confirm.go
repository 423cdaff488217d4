package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// confirm calls about, which prints the details, and asks a question on the terminal. It returns
// errUnconfirmed unless the answer is yes, or when stdin is not a terminal: scripts pass --yes.
func (s *streams) confirm(question string, about func() error) error {
	if !terminal(s.in) {
		return fmt.Errorf("%w: standard input is not a terminal; pass --yes to confirm", errUnconfirmed)
	}
	if err := about(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.err, "%s [y/N] ", question); err != nil {
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
