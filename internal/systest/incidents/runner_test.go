package incidents_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/uidring/uidring/internal/testkit/poll"
	"github.com/uidring/uidring/internal/testkit/process"
)

// serviceEnv holds the service of a child process. It gets commands as lines on standard input and
// answers on standard output:
//
//	start   makes a generator                worker, then its number
//	draw n  takes IDs                        n lines with an ID each, then drawn
//	close   closes the generator             closed
//
// It ends when standard input does, or with a line that begins with error.
const serviceEnv = "UIDRING_INCIDENTS_SERVICE"

// runChild makes the test binary a process of an incident if it was started as one, and does not
// return then.
func runChild() {
	r := &runner{out: bufio.NewWriter(os.Stdout)}
	ok, err := process.Role(serviceEnv, &r.service)
	if !ok {
		return
	}
	if err == nil {
		err = r.run(bufio.NewReader(os.Stdin))
	}
	if err != nil {
		fmt.Fprintln(r.out, "error", err)
		_ = r.out.Flush()
		os.Exit(1)
	}
	os.Exit(0)
}

// A runner runs a service in the child.
type runner struct {
	service service
	db      *sqlx.DB
	g       generator
	out     *bufio.Writer
}

func (r *runner) run(in *bufio.Reader) (err error) {
	if r.db, err = r.service.open(); err != nil {
		return err
	}
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := r.obey(strings.TrimSuffix(line, "\n")); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimSuffix(line, "\n"), err)
		}
		if err := r.out.Flush(); err != nil {
			return err
		}
	}
}

func (r *runner) obey(command string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), poll.Patience)
	defer cancel()
	verb, arg, _ := strings.Cut(command, " ")
	switch verb {
	case "start":
		if r.g, err = r.service.start(ctx, r.db); err != nil {
			return err
		}
		_, err = fmt.Fprintln(r.out, "worker", r.g.WorkerID())
		return err
	case "draw":
		return r.draw(ctx, arg)
	case "close":
		if err := r.g.Close(); err != nil {
			return err
		}
		_, err = fmt.Fprintln(r.out, "closed")
		return err
	}
	return errors.New("no such command")
}

func (r *runner) draw(ctx context.Context, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	for range n {
		id, err := r.g.NextContext(ctx)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(r.out, id); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(r.out, "drawn")
	return err
}
