package testkit

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Script runs a text, and collects the answers.
type Script struct{ out strings.Builder }

// Print adds a line.
func (s *Script) Print(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

// Events adds the lines of events, each once. "…" stands behind an event that comes again.
func (s *Script) Events(lines []string) {
	times := make(map[string]int)
	for _, line := range lines {
		times[line]++
	}
	for _, line := range lines {
		switch times[line] {
		case 0:
		case 1:
			s.Print("  %s", line)
		default:
			s.Print("  %s …", line)
		}
		times[line] = 0
	}
}

// Run calls do with the words of each line that begins with >. It returns the lines that begin with
// > or #, and empty lines, with the lines of Print between them.
func (s *Script) Run(text string, do func(Words)) string {
	for line := range strings.SplitSeq(text, "\n") {
		command, ok := strings.CutPrefix(line, ">")
		if ok || line == "" || line[0] == '#' {
			s.Print("%s", line)
		}
		if ok {
			do(Words(strings.Fields(command)))
		}
	}
	return strings.TrimSuffix(s.out.String(), "\n")
}

// Words are a command of a script. The methods panic if the script is wrong.
type Words []string

// Arg returns word i, or nothing if there are fewer.
func (w Words) Arg(i int) string {
	if i < len(w) {
		return w[i]
	}
	return ""
}

// Number returns word i as a number.
func (w Words) Number(i int) int64 {
	n, err := strconv.ParseInt(w.Arg(i), 10, 64)
	w.check(err)
	return n
}

// Duration returns word i as a Duration.
func (w Words) Duration(i int) time.Duration {
	d, err := time.ParseDuration(w.Arg(i))
	w.check(err)
	return d
}

// Set sets a variable to the value of the word "name=value", if there is one.
func (w Words) Set(name string, to any) {
	for _, word := range w {
		text, ok := strings.CutPrefix(word, name+"=")
		if !ok {
			continue
		}
		switch to := to.(type) {
		case *string:
			*to = text
		case *time.Duration:
			*to = Words{text}.Duration(0)
		default: // a number
			_, err := fmt.Sscanln(text, to) // unlike Sscan it refuses 5s
			w.check(err)
		}
	}
}

func (w Words) check(err error) {
	if err != nil {
		panic(fmt.Sprintf("%q: %v", w, err))
	}
}
