package incidents_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/jmoiron/sqlx"
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
	text, ok := os.LookupEnv(serviceEnv)
	if !ok {
		return
	}
	c := &child{out: bufio.NewWriter(os.Stdout)}
	err := json.Unmarshal([]byte(text), &c.service)
	if err == nil {
		err = c.run(bufio.NewReader(os.Stdin))
	}
	if err != nil {
		fmt.Fprintln(c.out, "error", err)
		_ = c.out.Flush()
		os.Exit(1)
	}
	os.Exit(0)
}

type child struct {
	service service
	db      *sqlx.DB
	g       generator
	out     *bufio.Writer
}

func (c *child) run(in *bufio.Reader) (err error) {
	if c.db, err = c.service.open(); err != nil {
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
		if err := c.obey(strings.TrimSuffix(line, "\n")); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimSuffix(line, "\n"), err)
		}
		if err := c.out.Flush(); err != nil {
			return err
		}
	}
}

func (c *child) obey(command string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	verb, arg, _ := strings.Cut(command, " ")
	switch verb {
	case "start":
		if c.g, err = c.service.start(ctx, c.db); err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.out, "worker", c.g.WorkerID())
		return err
	case "draw":
		return c.draw(ctx, arg)
	case "close":
		if err := c.g.Close(); err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.out, "closed")
		return err
	}
	return errors.New("no such command")
}

func (c *child) draw(ctx context.Context, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	for range n {
		id, err := c.g.NextContext(ctx)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(c.out, id); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(c.out, "drawn")
	return err
}
