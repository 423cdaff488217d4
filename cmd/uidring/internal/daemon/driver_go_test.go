package daemon

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/uidring/uidring/client"
)

// startGo returns the driver of the Go client, which runs in this process.
func startGo() *driver {
	d := new(goDriver)
	return &driver{
		name: "go",
		ask: func(command string) (string, []int64) {
			ids, err := d.do(strings.Split(command, " "))
			if err != nil {
				return fmt.Sprintf("error %s | %v", kindOf(err), err), ids
			}
			return "ok", ids
		},
		end: func() error { return nil },
	}
}

type goDriver struct {
	ids  *client.Client
	wait time.Duration
}

func (d *goDriver) do(command []string) (ids []int64, err error) {
	var n [6]int
	for i := 1; i < len(command); i++ {
		n[i-1], _ = strconv.Atoi(command[i]) // of the numbers
	}
	switch command[0] {
	case "open":
		if d.ids != nil {
			d.ids.Close()
		}
		d.wait = time.Duration(n[4]) * time.Millisecond
		d.ids, err = client.New(client.Config{
			Servers: strings.FieldsFunc(command[1], func(r rune) bool { return r == ',' }), Token: command[2], Batch: n[2],
			Timeout: time.Duration(n[3]) * time.Millisecond, MaxAge: time.Duration(n[5]) * time.Millisecond,
		})
		return nil, err
	case "take":
		return d.take(n[0], n[1])
	}
	return nil, d.close()
}

func (d *goDriver) next() (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d.wait)
	defer cancel()
	return d.ids.NextContext(ctx)
}

func (d *goDriver) take(n, takers int) (ids []int64, failed error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	for range takers {
		group.Go(func() {
			for range n / takers {
				id, err := d.next()
				mu.Lock()
				if err == nil {
					ids = append(ids, id)
				} else {
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
	return ids, failed
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
	if err == nil {
		_, err = d.ids.Next()
	}
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
