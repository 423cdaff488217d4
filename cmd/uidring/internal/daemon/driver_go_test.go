package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/client"
)

// startGo starts the driver of the Go client in this process.
func startGo(t *testing.T) *driver {
	commands, stdin := io.Pipe()
	stdout, answers := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer answers.Close()
		driveGo(commands, answers)
	}()
	t.Cleanup(func() { _, _ = stdin.Close(), stdout.Close() })
	lines := bufio.NewReader(stdout)
	return &driver{
		name: "go", stdin: stdin,
		line: func() (string, error) {
			text, err := lines.ReadString('\n')
			return strings.TrimSuffix(text, "\n"), err
		},
		wait: func() error { <-ended; return nil },
	}
}

func driveGo(commands io.Reader, answers io.Writer) {
	d := new(goDriver)
	out := bufio.NewWriter(answers)
	for in := bufio.NewScanner(commands); in.Scan(); {
		result := "ok"
		if err := d.do(strings.Split(in.Text(), " "), out); err != nil {
			result = fmt.Sprintf("error %s | %s", kindOf(err), strings.ReplaceAll(err.Error(), "\n", " "))
		}
		fmt.Fprintln(out, result)
		out.Flush()
	}
}

type goDriver struct {
	ids  *client.Client
	wait time.Duration
}

func (d *goDriver) do(command []string, out io.Writer) error {
	var n [6]int
	for i := 1; i < min(len(command), 7); i++ {
		n[i-1], _ = strconv.Atoi(command[i]) // of the numbers
	}
	switch command[0] {
	case "open":
		if d.ids != nil {
			d.ids.Close()
		}
		var err error
		d.wait = time.Duration(n[4]) * time.Millisecond
		d.ids, err = client.New(client.Config{
			Servers: strings.FieldsFunc(command[1], func(r rune) bool { return r == ',' }), Token: command[2], Batch: n[2],
			Timeout: time.Duration(n[3]) * time.Millisecond, MaxAge: time.Duration(n[5]) * time.Millisecond,
		})
		return err
	case "take":
		return d.take(n[0], n[1], out)
	}
	return d.close()
}

func (d *goDriver) next() (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.wait)
	defer cancel()
	return d.ids.NextContext(ctx)
}

func (d *goDriver) take(n, takers int, out io.Writer) error {
	var mu sync.Mutex
	var failed error
	var group sync.WaitGroup
	for range takers {
		group.Go(func() {
			for range n / takers {
				id, err := d.next()
				mu.Lock()
				if err == nil {
					_, err = fmt.Fprintln(out, id)
				}
				if err != nil {
					failed = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	group.Wait()
	return failed
}

func (d *goDriver) close() error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for {
			if _, err := d.next(); err == client.ErrClosed {
				return
			}
		}
	}()
	err := d.ids.Close()
	<-closed
	if err != nil {
		return err
	}
	_, err = d.ids.Next()
	return err
}

func kindOf(err error) string {
	if p, ok := errors.AsType[*client.ProblemError](err); ok && err == error(p) {
		return fmt.Sprintf("rejected %d %s", p.Status, p.Type)
	}
	if _, ok := errors.AsType[*client.UnavailableError](err); ok {
		return "unavailable"
	}
	if err == client.ErrClosed {
		return "closed"
	}
	return "invalid"
}
