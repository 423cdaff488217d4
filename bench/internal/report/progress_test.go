package report

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

func TestProgressIsForTerminalsOnly(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if NewProgress(w, false) != nil || NewProgress(new(bytes.Buffer), false) != nil {
		t.Error("a bar for a pipe or a buffer")
	}
}

func TestProgressRunsThePhaseAndReturnsItsError(t *testing.T) {
	broken := errors.New("broken")
	var out bytes.Buffer
	for _, p := range []*Progress{nil, {&out}} {
		ran := 0
		err := p.Show("looking", 10, func() int64 { return 99 }, func() error {
			ran++
			return broken
		})
		if ran != 1 || !errors.Is(err, broken) {
			t.Errorf("ran %d times, error %v", ran, err)
		}
	}
	if !strings.Contains(out.String(), "looking") || !strings.Contains(out.String(), "90%") {
		t.Errorf("the bar does not show how far the phase is: %q", &out)
	}
}
