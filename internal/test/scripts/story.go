package scripts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/generator"
	"github.com/uidring/uidring/internal/storecall"
	"github.com/uidring/uidring/internal/test/testkit"
)

// A Story is the world of a paragraph in fake time: a title behind #, and commands behind >. Below
// a command the script has its result, its error, and how long it took if it took time. Results of
// commands beside it and events follow, until all goroutines wait again. These commands prepare a
// story:
//
//	on renew ok / sleep 1s; fail down   sets the next answers of an operation, see Answer
//	show assign log                     shows events of these kinds from now on, see Event and Logger
//	sleep 1s, every 1ms                 every sets the pause after each ID of take
//	clock +1h                           moves the clock of the user, see Ahead
//	hold, hold b, go, go b              hold waits for the command go with the same word
//	beside sleep 1s; wait 1m            runs commands beside the following ones, and shows their results
//
// Do makes the commands under test. The fields are set before the first command.
type Story struct {
	testkit.Script
	T      *testing.T
	Policy int

	Do        func(testkit.Words) (result string, err error)
	Lines     func(command testkit.Words, lines []string) []string // changes the lines below a command; or nil
	Text      func(error) string                                   // of an error; nil: all of it
	Sentinels []error                                              // whose texts and errors.Is must agree
	Failures  map[string]error                                     // of the command fail, see Answer
	Precision time.Duration                                        // of times, if some pauses are random

	Results testkit.Recorder // of commands
	log     testkit.Recorder // events behind the results
	mu      sync.Mutex
	answers map[string][]string // that are left, by operation, guarded by mu
	shown   sync.Map            // kinds of events
	gates   sync.Map            // channels that go closes
	ahead   atomic.Int64        // nanoseconds
	pause   time.Duration
	lanes   map[lane]func() (int64, error)
	besides testkit.Recorder // results of commands beside the others, which end in any order
}

// Stories runs each paragraph of the scripts as a story, once for each policy, which must print the
// same. begin sets the fields of a Story.
func Stories(t *testing.T, policies int, begin func(*Story)) {
	t.Helper()
	Run(t, func(t *testing.T, paragraph string) (first string) {
		for policy := range policies {
			synctest.Test(t, func(t *testing.T) {
				s := &Story{T: t, Policy: policy, answers: make(map[string][]string), lanes: make(map[lane]func() (int64, error))}
				begin(s)
				got := s.Run(paragraph, s.step)
				for operation, answers := range s.answers {
					if len(answers) > 1 {
						t.Errorf("answers of %s are left: %q", operation, answers)
					}
				}
				if first = cmp.Or(first, got); got != first {
					t.Errorf("under policy %d:\n%s", policy, got)
				}
			})
		}
		return first
	})
}

// step makes a command, and prints its results and the events.
func (s *Story) step(words testkit.Words) {
	s.Command(words)
	synctest.Wait()
	besides := s.besides.Read()
	slices.Sort(besides)
	lines := slices.Concat(s.Results.Read(), besides, s.log.Read())
	if s.Lines != nil {
		lines = s.Lines(words, lines)
	}
	s.Events(lines)
}

// Command makes a command, and records its result.
func (s *Story) Command(words testkit.Words) {
	if s.prepare(words) {
		return
	}
	began := time.Now()
	result := s.result(words)
	if took := time.Since(began).Truncate(s.Precision); took > 0 {
		result = strings.TrimSpace(fmt.Sprintf("%s after %v", result, took))
	}
	if result != "" {
		s.Results.Note("%s", result)
	}
}

// prepare makes a command that prepares a story. It returns false for another one.
func (s *Story) prepare(words testkit.Words) bool {
	switch words.Arg(0) {
	case "on":
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answers[words.Arg(1)] = strings.Split(strings.Join(words[2:], " "), " / ")
	case "show":
		for _, kind := range words[1:] {
			s.shown.Store(kind, true)
		}
	case "sleep":
		time.Sleep(words.Duration(1))
	case "every":
		s.pause = words.Duration(1)
	case "clock":
		s.ahead.Add(int64(words.Duration(1)))
	case "hold":
		<-s.gate(words.Arg(1))
	case "go":
		close(s.gate(words.Arg(1)))
	case "beside":
		go s.beside(words[1:])
	default:
		return false
	}
	return true
}

// beside makes commands that are parted by ;, and records their results without the time they took.
func (s *Story) beside(commands testkit.Words) {
	for part := range strings.SplitSeq(strings.Join(commands, " "), ";") {
		if words := testkit.Words(strings.Fields(part)); !s.prepare(words) {
			s.besides.Note("%s: %s", words[0], cmp.Or(s.result(words), "done"))
		}
	}
}

// gate returns the channel that go closes.
func (s *Story) gate(name string) chan struct{} {
	gate, _ := s.gates.LoadOrStore(name, make(chan struct{}))
	return gate.(chan struct{})
}

// result makes a command under test, and returns its result and its error.
func (s *Story) result(words testkit.Words) string {
	result, err := s.Do(words)
	if err == nil {
		return result
	}
	return strings.TrimPrefix(result+"; error: "+s.ErrorText(err), "; ")
}

// ErrorText returns an error in a line, and whether it passes or is the end of a context.
func (s *Story) ErrorText(err error) string {
	text := err.Error()
	if s.Text != nil {
		text = s.Text(err)
	}
	for _, sentinel := range s.Sentinels {
		if errors.Is(err, sentinel) != strings.Contains(err.Error(), sentinel.Error()) {
			s.T.Errorf("errors.Is(%v, %v) = %v", err, sentinel, errors.Is(err, sentinel))
		}
	}
	if after, passes := uidring.RetryAfter(err); passes {
		if after = after.Round(s.Precision); after > 120*s.Precision {
			after = after.Round(120 * s.Precision)
		}
		text += fmt.Sprintf(" (passes after %v)", after)
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		text += " (the end of the context)"
	}
	return strings.ReplaceAll(text, "\n", "; ")
}

// Answer runs the next answer of an operation. The last answer stays. An answer is a list of
// commands that are parted by ;:
//
//	ok                      or nothing
//	hang                    waits for the end of the context, and fails with its error
//	late                    waits for the end of the context
//	try down                fails a try that the operation repeats
//	fail down, fail full 3s fails, with an error that passes if there is a time
//
// do makes the commands of the operation, and returns false for another one, which may be any of
// the story. It may be nil.
func (s *Story) Answer(ctx context.Context, operation string, do func(testkit.Words) bool) (err error) {
	for text := range strings.SplitSeq(s.next(operation), ";") {
		switch words := testkit.Words(strings.Fields(text)); words.Arg(0) {
		case "", "ok":
		case "hang":
			<-ctx.Done()
			err = ctx.Err()
		case "late":
			<-ctx.Done()
		case "try":
			storecall.Failed(ctx, s.failure(words))
		case "fail":
			err = s.failure(words)
		default:
			if do == nil || !do(words) {
				s.Command(words)
			}
		}
	}
	return err
}

// next returns the next answer of an operation.
func (s *Story) next(operation string) (answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answers := s.answers[operation]; len(answers) > 0 {
		answer, s.answers[operation] = answers[0], answers[min(1, len(answers)-1):]
	}
	return answer
}

// failure returns the error of the command fail or try.
func (s *Story) failure(words testkit.Words) error {
	err := s.Failures[words.Arg(1)]
	if err == nil {
		s.T.Errorf("%q: unknown error", words)
	}
	if len(words) > 2 {
		err = generator.Passing{Err: err, After: words.Duration(2)}
	}
	return err
}

// Event records an event of a kind that the story shows.
func (s *Story) Event(kind, format string, args ...any) {
	if _, shown := s.shown.Load(kind); shown {
		s.log.Note(format, args...)
	}
}

// Logger returns a logger. After "show log" the story has level and message of its records, after
// "show records" all keys and values.
func (s *Story) Logger() *slog.Logger {
	if _, shown := s.shown.Load("records"); shown {
		return s.log.TextLogger()
	}
	if _, shown := s.shown.Load("log"); shown {
		return s.log.Logger()
	}
	return slog.New(slog.DiscardHandler)
}

// Ahead returns how far the clock of the user is ahead.
func (s *Story) Ahead() time.Duration { return time.Duration(s.ahead.Load()) }

// Context returns the context of a command such as open within=1m cancel=20s. By default it ends
// after a day.
func (s *Story) Context(words testkit.Words) (context.Context, context.CancelFunc) {
	within := 24 * time.Hour
	words.Set("within", &within)
	canceled := within + time.Second
	words.Set("cancel", &canceled)
	ctx, cancel := context.WithTimeout(s.T.Context(), within)
	timer := time.AfterFunc(canceled, cancel)
	return ctx, func() { timer.Stop(); cancel() }
}
