package bitsalloc_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
)

// TestScripts runs the scripts in testdata. A paragraph has a title behind #, and commands behind
// >. Below a command the script has its result, or each mistake:
//
//	layout "28/5/17/13"                     ParseLayout, also by way of JSON
//	new 28/5/17/13@1s 2026-01-01T00:00:00Z  New, without an epoch the default one
//
// These use the allocator of the last new. An instant is a time, or seconds since 1970:
//
//	time 7                                  Time of a delta
//	expires                                 Expires, its delta, and MaxDelta
//	delta 2026-01-01T00:00:01Z
//	at 1152921504606846976                  MinAt and MaxAt
//	range -1152921504606846976 2026-01-01T00:00:01Z
func TestScripts(t *testing.T) {
	var a *bitsalloc.Allocator
	scripts.Each(t, func(t *testing.T, s *testkit.Script, words testkit.Words) {
		var err error
		switch words.Arg(0) {
		case "layout":
			err = parse(t, s, strings.Join(words[1:], " "))
		case "new":
			var l bitsalloc.Layout
			var epoch time.Time
			testkit.Must(t, l.UnmarshalText([]byte(words.Arg(1))))
			if len(words) > 2 {
				epoch = instant(t, words[2])
			}
			if a, err = bitsalloc.New(l, epoch); (a == nil) == (err == nil) {
				t.Errorf("%q: %v beside the error %v", words, a, err)
			}
		case "time":
			s.Print("  %v", a.Time(words.Number(1)))
		case "expires":
			s.Print("  %v, delta %d after %d", a.Expires(), a.Delta(a.Expires()), a.MaxDelta())
		case "delta":
			s.Print("  %d", a.Delta(instant(t, words.Arg(1))))
		case "at":
			at := instant(t, words.Arg(1))
			s.Print("  %d to %d", a.MinAt(at), a.MaxAt(at))
		case "range":
			first, last := a.Range(instant(t, words.Arg(1)), instant(t, words.Arg(2)))
			s.Print("  %d to %d", first, last)
		default:
			t.Errorf("unknown command %q", words)
		}
		if err == nil {
			return
		}
		if !errors.Is(err, bitsalloc.ErrInvalidLayout) {
			t.Errorf("%q: %v, want ErrInvalidLayout", words, err)
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			s.Print("  %s", line)
		}
	})
}

// parse prints the layout that a quoted text stands for. UnmarshalText must agree, and leave its
// receiver alone after an error.
func parse(t *testing.T, s *testkit.Script, quoted string) error {
	text, err := strconv.Unquote(quoted)
	testkit.Must(t, err)
	want, err := bitsalloc.ParseLayout(text)
	if err != nil {
		kept := bitsalloc.Recommended()
		if kept.UnmarshalText([]byte(text)) == nil || kept != bitsalloc.Recommended() || want != (bitsalloc.Layout{}) {
			t.Errorf("%q: %v, and UnmarshalText leaves %v", text, want, kept)
		}
		return err
	}
	written, err := json.Marshal(want)
	var read bitsalloc.Layout
	if err := errors.Join(err, json.Unmarshal(written, &read)); read != want || err != nil {
		t.Errorf("%s is read as %v, %v, want %v", written, read, err, want)
	}
	s.Print("  %s", written)
	return nil
}

func instant(t *testing.T, text string) time.Time {
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Unix(seconds, 0)
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	testkit.Must(t, err)
	return at
}
