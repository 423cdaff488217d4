package gentest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/test/testkit"
)

// The results of the commands of a story, as text.

// ids takes IDs by a command. No ID is below the oldest delta that the store knows.
func (w *story) ids(words testkit.Words) ([]int64, error) {
	oldest := w.store.Oldest.Load()
	ids, err := w.Take(w.Generator, func() func() (int64, error) { return w.Lane(w.Generator) }, words)
	for _, id := range ids {
		if f := ParseID(w.T, w, id); f.Delta < oldest {
			w.T.Errorf("%v after the report that no ID is below delta %d", f, oldest)
		}
	}
	return ids, err
}

// crowd makes a command on n goroutines at once, and returns all IDs in order and an error.
func (w *story) crowd(n int, words testkit.Words) (string, error) {
	ids, errs := make([][]int64, n), make([]error, n)
	testkit.Together(n, func(i int) { ids[i], errs[i] = w.ids(words) })
	all := slices.Concat(ids...)
	slices.Sort(all)
	return w.list("", all), cmp.Or(errs...)
}

// pace takes IDs through a long time, and returns their number, the last one, and how far the time
// in an ID was behind the clock at the most, if it was.
func (w *story) pace(words testkit.Words) (string, error) {
	n, behind, last := 0, time.Duration(0), ""
	for range words.Number(1) {
		ids, err := w.ids(testkit.Words{"take", words.Arg(2), words.Arg(4)})
		if err != nil {
			return "", err
		}
		for _, id := range ids {
			behind = max(behind, time.Since(ParseID(w.T, w, id).Time))
			last = w.list(words.Arg(4), []int64{id})
			n++
		}
		time.Sleep(words.Duration(3))
		synctest.Wait()
	}
	text := fmt.Sprintf("%d IDs up to %s", n, last)
	if behind > 0 {
		text += fmt.Sprintf(", at most %v behind the clock", behind)
	}
	return text, nil
}

// list writes IDs as runs. They increase, and are above the IDs that the source has issued before.
func (w *story) list(source string, ids []int64) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]bitsalloc.Fields, len(ids))
	for i, id := range ids {
		all[i] = ParseID(w.T, w, id)
		if id <= w.last[source] || all[i].DatacenterID != w.cfg.DatacenterID {
			w.T.Errorf("%v after %d, want a later ID of datacenter %d", all[i], w.last[source], w.cfg.DatacenterID)
		}
		w.last[source] = id
	}
	var runs []string
	for len(all) > 0 {
		n := 1
		for n < len(all) && w.follows(all[n-1], all[n]) {
			n++
		}
		text := w.name(all[0])
		if n > 1 {
			text += " to " + w.name(all[n-1])
		}
		if worker := all[0].WorkerID; worker != 1 {
			text += fmt.Sprintf(" of worker %d", worker)
		}
		runs = append(runs, text)
		all = all[n:]
	}
	return strings.Join(runs, ", ")
}

// follows reports whether b is the ID after a in the stream of one worker ID.
func (w *story) follows(a, b bitsalloc.Fields) bool {
	if a.Delta == b.Delta {
		return b.ID == a.ID+1
	}
	return a.WorkerID == b.WorkerID && b.Delta == a.Delta+1 && b.Sequence == 0 && a.Sequence == w.maxSequence()
}

func (w *story) maxSequence() int64 { return 1<<w.cfg.Layout.SequenceBits - 1 }

// name writes an ID as its delta and sequence number.
func (w *story) name(f bitsalloc.Fields) string {
	if f.Sequence > 0 && f.Sequence == generator.Scatter(f.ID&^w.maxSequence(), w.cfg.Layout.SequenceBits) {
		return fmt.Sprintf("%d.s", f.Delta)
	}
	return fmt.Sprintf("%d.%d", f.Delta, f.Sequence)
}

// stats returns the Stats of a generator, whose type differs between packages.
func stats(g Generator) reflect.Value { return reflect.ValueOf(g).MethodByName("Stats").Call(nil)[0] }

// fields writes fields of Stats. In Stats that count IDs, each ID that was put is accounted for.
func (w *story) fields(names []string) string {
	stats := stats(w.Generator)
	if worker := stats.FieldByName("WorkerID").Int(); worker != w.WorkerID() {
		w.T.Errorf("Stats = %+v, and WorkerID() = %d", stats, w.WorkerID())
	}
	if issued := stats.FieldByName("Issued"); issued.IsValid() {
		sum := issued.Int() + stats.FieldByName("Retired").Int() + stats.FieldByName("Remaining").Int()
		if put := w.put.Load() << w.cfg.Layout.SequenceBits; sum != put {
			w.T.Errorf("Stats = %+v, but %d IDs were put", stats, put)
		}
	}
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = fmt.Sprintf("%s %v", name, stats.FieldByName(name))
	}
	return strings.Join(texts, ", ")
}

// sentinels are the errors whose texts and errors.Is must agree.
var sentinels = []error{
	uidring.ErrClosed, uidring.ErrEmpty, uidring.ErrTooFarAhead, uidring.ErrLeaseExhausted, uidring.ErrTimeExhausted,
	uidring.ErrInvalidConfig, uidring.ErrSequenceExhausted, uidring.ErrClockBack, bitsalloc.ErrInvalidLayout, errDown,
	assigner.ErrUnfencedReuse, assigner.ErrWorkerInUse, assigner.ErrWorkerOutOfRange, assigner.ErrWorkerUnknown,
}

// text writes an error, the same for each package and policy.
func (w *story) text(err error) string {
	text := strings.ReplaceAll(w.Subject.Text(w.cfg.Policy, err), w.Package+": ", "PACKAGE: ")
	if f, ok := errors.AsType[*uidring.FieldError](err); ok && !strings.Contains(text, f.Field+" "+f.Given) {
		text += fmt.Sprintf(" (%s %s)", f.Field, f.Given)
	}
	if _, timeout := errors.AsType[net.Error](err); timeout && !errors.Is(err, context.DeadlineExceeded) {
		text += " (a timeout)"
	}
	return text
}
