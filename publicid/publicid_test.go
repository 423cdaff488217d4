package publicid_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/internal/test/scripts"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/publicid"
)

const (
	secret1, secret2 = "000102030405060708090a0b0c0d0e0f", "2b7e151628aed2a6abf7158809cf4f3c"
	key1, key2       = "1:" + secret1, "2:" + secret2
)

func newMasker(t testing.TB, kind string, keys ...string) *publicid.Masker {
	m, err := publicid.New(kind, keys...)
	testkit.Must(t, err)
	return m
}

// The vectors were made by another implementation, in Python, of the package comment.
func TestVectors(t *testing.T) {
	text := testkit.ReadFile(t, "testdata/vectors.json")
	var vectors []struct {
		Key, Kind, Text string
		ID, Face        uidring.ID
	}
	if err := json.Unmarshal([]byte(text), &vectors); err != nil || len(vectors) < 30 {
		t.Fatalf("%d vectors, %v", len(vectors), err)
	}
	for _, v := range vectors {
		m := newMasker(t, v.Kind, v.Key)
		if face, back := m.Mask(v.ID), m.Unmask(v.Face); face != v.Face || back != v.ID {
			t.Errorf("%+v: face %d, unmasked %d", v, face, back)
		}
		if got := m.Text(v.ID); got != v.Text {
			t.Errorf("%+v: text %s", v, got)
		}
		if id, err := m.Parse(v.Text); id != v.ID || err != nil {
			t.Errorf("%+v: parsed as %d, %v", v, id, err)
		}
	}
}

func FuzzPermutations(f *testing.F) {
	f.Add(int64(0), int64(1), 3)
	f.Add(int64(math.MaxInt64), int64(-1), -64)
	f.Add(int64(-5), int64(5), math.MinInt)
	f.Add(int64(176636547297255431), int64(176636547297255432), 126)
	m := newMasker(f, "order", key1)
	unmasked, err := publicid.NewUnmasked("order")
	testkit.Must(f, err)
	f.Fuzz(func(t *testing.T, a, b int64, n int) {
		for name, p := range map[string]struct{ there, back func(uidring.ID) uidring.ID }{
			"Mask":     {m.Mask, m.Unmask},
			"Unmask":   {m.Unmask, m.Mask},
			"unmasked": {unmasked.Mask, unmasked.Unmask},
			"Scatter":  {func(id uidring.ID) uidring.ID { return publicid.Scatter(id, n) }, func(id uidring.ID) uidring.ID { return publicid.Gather(id, n) }},
		} {
			first, second := p.there(uidring.ID(a)), p.there(uidring.ID(b))
			if p.back(first) != uidring.ID(a) || first < 0 != (a < 0) || a < 0 && int64(first) != a {
				t.Errorf("%s: %d becomes %d and then %d", name, a, first, p.back(first))
			}
			if first == second != (a == b) {
				t.Errorf("%s: %d and %d become %d and %d", name, a, b, first, second)
			}
		}
		text := m.Text(uidring.ID(a))
		if id, err := m.Parse(text); a >= 0 && (int64(id) != a || err != nil) || a < 0 && !errors.Is(err, uidring.ErrRange) {
			t.Errorf("%d: %s is parsed as %d, %v", a, text, id, err)
		}
	})
}

// TestScripts runs the scripts in testdata. new, unmasked and zero make a Masker, and the commands
// below use it. Below a command the script has its result, or each mistake. No mistake shows a key.
// scatter prints the result in binary, and gathers it again.
func TestScripts(t *testing.T) {
	var m *publicid.Masker
	scripts.Each(t, func(t *testing.T, s *testkit.Script, words testkit.Words) {
		for i := range words {
			words[i] = strings.Trim(words[i], `"`)
		}
		var err error
		switch words.Arg(0) {
		case "new":
			m, err = publicid.New(words[1], words[2:]...)
		case "unmasked":
			m, err = publicid.NewUnmasked(words[1])
		case "zero":
			m = new(publicid.Masker)
		case "mask":
			s.Print("  %d", m.Mask(uidring.ID(words.Number(1))))
		case "unmask":
			s.Print("  %d", m.Unmask(uidring.ID(words.Number(1))))
		case "text":
			s.Print("  %s", m.Text(uidring.ID(words.Number(1))))
		case "parse":
			var id uidring.ID
			if id, err = m.Parse(words[1]); err == nil || id != 0 {
				s.Print("  %d", id)
			}
		case "scatter":
			n := int(words.Number(2))
			scattered := publicid.Scatter(uidring.ID(words.Number(1)), n)
			s.Print("  %b, gathered %d", scattered, publicid.Gather(scattered, n))
		}
		if words.Arg(0) != "parse" && err != nil && m != nil {
			t.Errorf("%q: a Masker beside the error %v", words, err)
		}
		for _, line := range mistakes(t, err) {
			if s.Print("  %s", line); strings.Contains(line, secret1[:8]) || strings.Contains(line, secret2[:8]) {
				t.Errorf("%s: it shows a key", line)
			}
		}
	})
}

// mistakes returns the parts of an error, which must have the type and the sentinel of their call.
func mistakes(t *testing.T, err error) (lines []string) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			lines = append(lines, mistakes(t, err)...)
		}
		return lines
	}
	if err == nil {
		return nil
	}
	invalid, parsed := errors.AsType[*uidring.InvalidError](err)
	field, made := errors.AsType[*uidring.FieldError](err)
	if !(made && errors.Is(field, publicid.ErrInvalid)) && !(parsed && errors.Is(err, invalid.Kind)) {
		t.Errorf("%v has another type", err)
	}
	return []string{err.Error()}
}

func TestMaskerPrintsNoKey(t *testing.T) {
	m := newMasker(t, "order", key1, key2)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("", "masker", m, "value", *m)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("", "masker", m, "value", *m)
	text := log.String() + fmt.Sprintf("%v %+v %#v %v %+v %#v", m, m, m, *m, *m, *m)
	for _, leak := range []string{secret1[:8], secret2[:8], "0 1 2 3", "0x0, 0x1", "43 126 21"} {
		if strings.Contains(text, leak) {
			t.Errorf("it prints %s: %s", leak, text)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	m := newMasker(t, "order", key1)
	text := m.Text(1)
	for name, call := range map[string]func(){
		"Mask":   func() { m.Mask(1) },
		"Unmask": func() { m.Unmask(1) },
		"Parse":  func() { _, _ = m.Parse(text) },
	} {
		if n := testing.AllocsPerRun(1000, call); n != 0 {
			t.Errorf("%s makes %v allocations", name, n)
		}
	}
}
