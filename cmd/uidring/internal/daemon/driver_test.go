package daemon

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/idset"
	"github.com/uidring/uidring/internal/test/process"
)

// A driver is a program around a client of some language. It reads a command per line, and writes
// the IDs that it draws, one per line, and then "ok" or "error kind | message". The commands are:
//
//	open SERVERS TOKEN BATCH TIMEOUT WAIT MAXAGE   replaces the client; servers with commas, times in ms
//	take N TAKERS                                  draws N IDs in concurrent parts
//	close                                          closes the client while a call waits
//	fork N                                         draws N IDs in a forked child and N in the parent
type driver struct {
	t      *testing.T
	name   string
	ask    func(command string) (result string, ids []int64)
	end    func() error // closes the standard input, and waits for the end of the program
	relays [2]*relay    // to the killed and the frozen server
	issued *idset.Set
	drawn  atomic.Int64
	before counts
}

// counts are the IDs and the requests of a client so far.
type counts struct {
	ids      int64
	requests [2]int64 // to the killed and the frozen server
}

func (d *driver) count() counts {
	return counts{d.drawn.Load(), [2]int64{d.relays[killed].requests.Load(), d.relays[frozen].requests.Load()}}
}

// converse sends a command to a program, and returns its answer.
func converse(p *process.Child, command string) (result string, ids []int64) {
	if _, err := fmt.Fprintln(p.Stdin, command); err != nil {
		return err.Error(), nil
	}
	for {
		text, err := p.Line()
		if err != nil {
			return err.Error(), ids
		}
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return text, ids
		}
		ids = append(ids, id)
	}
}

// do asks, and counts the IDs of the answer.
func (d *driver) do(command string) (result string, ids []int64) {
	result, ids = d.ask(command)
	if again := d.issued.Add(ids...); len(again) > 0 {
		d.t.Errorf("%s: %d of %d IDs came twice, the first is %d", d.name, len(again), len(ids), again[0])
	}
	d.drawn.Add(int64(len(ids)))
	return result, ids
}

func (d *driver) succeeds(command string) []int64 {
	result, ids := d.do(command)
	if result != "ok" {
		d.t.Errorf("%s, %s: %s, want ok", d.name, command, result)
	}
	return ids
}

func (d *driver) fails(command, kind string) {
	if result, _ := d.do(command); !strings.HasPrefix(result, "error "+kind+" | ") {
		d.t.Errorf("%s, %s: %s, want error %s", d.name, command, result, kind)
	}
}

// dropsOldIDs makes a client whose IDs soon become too old, and lets them.
func (d *driver) dropsOldIDs(open string) {
	d.succeeds(open)
	first := d.succeeds("take 1 1")
	<-time.After(200 * time.Millisecond)
	second := d.succeeds("take 1 1")
	if len(first) == 1 && len(second) == 1 && second[0] == first[0]+1 {
		d.t.Errorf("%s: %d follows %d from the same batch, which has become too old", d.name, second[0], first[0])
	}
}

// ends wants the program to end by itself, since its client is closed.
func (d *driver) ends() {
	ended := make(chan error, 1)
	go func() { ended <- d.end() }()
	select {
	case err := <-ended:
		if err != nil {
			d.t.Errorf("%s: %v after close, want exit status 0", d.name, err)
		}
	case <-time.After(patience):
		d.t.Errorf("%s has not ended after close", d.name)
	}
}
