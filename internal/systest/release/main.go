// Command release keeps the modules of this repository in step, and prepares their releases. All
// modules share one version. No go.mod has replace lines, since go install refuses them: go.work
// points development to the folders.
//
//	go run ./internal/systest/release v0.2.0       # sets the version, checks CHANGELOG.md, prints the tags to make
//	go run ./internal/systest/release tidy         # go mod tidy of all modules, against the siblings in this tree
//	go run ./internal/systest/release tidy -diff   # names the files that tidy would change, and fails if there are any
//
// Run it from the top of the repository. docs/RELEASING.md describes a release.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const usage = "usage: release VERSION | release tidy [-diff]"

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	repo, err := openRepository(".")
	if err != nil {
		return err
	}
	switch {
	case slices.Equal(args, []string{"tidy"}):
		return repo.tidy(ctx, true)
	case slices.Equal(args, []string{"tidy", "-diff"}):
		return repo.tidy(ctx, false)
	case len(args) != 1 || strings.HasPrefix(args[0], "-"):
		return fmt.Errorf("arguments %q; %s", args, usage)
	}
	tags, err := exec.CommandContext(ctx, "git", "tag", "--list").Output()
	if err != nil {
		return fmt.Errorf("git tag --list: %w", err)
	}
	return repo.release(args[0], strings.Fields(string(tags)), out)
}
