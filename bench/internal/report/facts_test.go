package report

import (
	"os/exec"
	"strings"
	"testing"
)

// A test program has no record of its commit, as a program that go run has built.
func TestTheWorkingTreeTellsTheCommit(t *testing.T) {
	head, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Skipf("no git, or no working tree: %v", err)
	}
	commit, _, _ := strings.Cut(NewFacts("").Commit, " ")
	if len(commit) != 12 || !strings.HasPrefix(string(head), commit) {
		t.Errorf("commit %q, want the first 12 digits of %s", commit, head)
	}
}
