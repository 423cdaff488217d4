package main

import (
	"fmt"
	"os"
	"strings"
)

// survivors is the list of mutants that may live. A paragraph begins with the reason, in lines that
// begin with #, and goes on with a mutant per line.
const survivors = "internal/systest/mutate/survivors.txt"

// readSurvivors returns the mutants that the file explains. It fails if a reason is missing, or if
// the code no longer has a mutant.
func readSurvivors(file string, all []mutant) (map[string]bool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	exist := make(map[string]bool)
	for _, m := range all {
		exist[m.String()] = true
	}
	explained := make(map[string]bool)
	reason := false
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		switch line = strings.TrimSpace(line); {
		case line == "":
			reason = false
		case strings.HasPrefix(line, "#"):
			reason = true
		case !reason:
			return nil, fmt.Errorf("%s:%d: %s: no reason above", file, n, line)
		case !exist[line]:
			return nil, fmt.Errorf("%s:%d: %s: the code has no such mutant", file, n, line)
		default:
			explained[line] = true
		}
	}
	return explained, nil
}
