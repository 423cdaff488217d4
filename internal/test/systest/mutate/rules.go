package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// rules lists changes by hand, each of which breaks a rule that has a name.
const rules = "internal/test/systest/mutate/rules.txt"

// A rule is a paragraph of the list.
type rule struct {
	title, file, text, replacement string
	tests                          []string // packages, and last the pattern of the tests
}

// readRules reads the list. A rule whose text does not occur once in its file is an error.
func readRules(file string) (all []rule, err error) {
	list, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	paragraphs := strings.Split(strings.TrimSuffix(string(list), "\n"), "\n\n")
	for _, p := range paragraphs[1:] { // after the head
		lines := strings.Split(p, "\n")
		if len(lines) != 5 {
			return nil, fmt.Errorf("%s: %d lines, want 5:\n%s", file, len(lines), p)
		}
		r := rule{title: strings.TrimPrefix(lines[0], "# "), file: lines[1], text: strings.TrimPrefix(lines[2], "- "),
			replacement: strings.TrimPrefix(lines[3], "+ "), tests: strings.Fields(lines[4])}
		all = append(all, r)
	}
	return all, nil
}

// source returns the file of the rule with the change.
func (r rule) source() (string, error) {
	text, err := os.ReadFile(r.file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), r.text); n != 1 {
		return "", fmt.Errorf("rule %q: %q occurs %d times in %s, want once", r.title, r.text, n, r.file)
	}
	return strings.Replace(string(text), r.text, r.replacement, 1), nil
}

// tryRules runs the tests of each rule against the change, and returns an error if they pass.
func tryRules(ctx context.Context, out io.Writer, match func(string) bool) error {
	all, err := readRules(rules)
	if err != nil {
		return err
	}
	var lived []error
	for _, r := range all {
		if !match(r.title) {
			continue
		}
		killed, err := r.killed(ctx)
		switch {
		case err != nil:
			return err
		case !killed:
			lived = append(lived, fmt.Errorf("%s: no test fails", r.title))
		}
		fmt.Fprintf(out, "%-5v %s\n", killed, r.title)
	}
	return errors.Join(lived...)
}

// killed builds the tests with the change, which must compile, and reports whether one fails.
func (r rule) killed(ctx context.Context) (bool, error) {
	text, err := r.source()
	if err != nil {
		return false, err
	}
	tmp, err := os.MkdirTemp("", "rule")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(tmp)
	overlay := filepath.Join(tmp, "overlay.json")
	if err := writeOverlay(overlay, map[string]string{r.file: text}); err != nil {
		return false, err
	}
	last := len(r.tests) - 1
	args := append([]string{"test", "-count=1", "-overlay", overlay, "-run", r.tests[last]}, r.tests[:last]...)
	output, err := goTool(ctx, args...).CombinedOutput()
	if strings.Contains(string(output), "[build failed]") || strings.Contains(string(output), "no tests to run") {
		return false, fmt.Errorf("%s:\n%s", r.title, output)
	}
	return err != nil, ctx.Err()
}
