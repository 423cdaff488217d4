package cli

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// confirm shows what a question is about and asks it on the terminal. Without one it takes no
// answer: --yes is what scripts say.
func (s *streams) confirm(question string, about func() error) error {
	if !terminal(s.in) {
		return fmt.Errorf("%w: standard input is no terminal; --yes says yes", errUnconfirmed)
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
