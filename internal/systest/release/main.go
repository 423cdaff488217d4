// Command release keeps the modules of this repository in step. All modules have one version. No
// go.mod has replace lines, since go install refuses them: go.work points development to the
// folders.
//
//	go run ./internal/systest/release v0.2.0      # sets the version, prints the commands that publish it
//	go run ./internal/systest/release tidy        # go mod tidy of all modules, against the siblings in this tree
//	go run ./internal/systest/release tidy -diff  # fails with the names of the files that tidy would change
//	go run ./internal/systest/release proxy DIR   # writes the modules of this tree into a folder for GOPROXY
//
// Run it from the top of the repository. docs/RELEASING.md describes a release.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

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
	case len(args) == 2 && args[0] == "proxy" && args[1] != "":
		return serve(ctx, args[1], out)
	case len(args) == 1 && semver.IsValid(args[0]):
		return repo.release(args[0], out)
	}
	return fmt.Errorf("arguments %q, allowed: a VERSION such as v0.2.0, tidy, tidy -diff, or proxy DIR", args)
}

// release sets the version of all modules, if CHANGELOG.md has a section for it, and prints the
// commands that publish it.
func (r *repository) release(version string, out io.Writer) error {
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	heading := "## " + strings.TrimPrefix(version, "v") + " - "
	if !regexp.MustCompile(`(?m)^## Unreleased\n\n` + regexp.QuoteMeta(heading) + `\d{4}-\d{2}-\d{2}$`).Match(changelog) {
		return fmt.Errorf("CHANGELOG.md: want the line %sYYYY-MM-DD directly below ## Unreleased, above the changes", heading)
	}
	if err := r.setVersion(version); err != nil {
		return err
	}
	fmt.Fprintf(out, "make lint test\ngit commit -a -m 'Release %s'\n", version)
	var tags []string
	for _, m := range r.published() {
		tags = append(tags, m.tag(version))
		fmt.Fprintf(out, "git tag -m '%s' %[1]s\n", m.tag(version))
	}
	_, err = fmt.Fprintf(out, "git push --atomic origin HEAD %s\ngh workflow run release.yml --ref %s\n", strings.Join(tags, " "), version)
	return err
}

// serve writes the modules of this tree into a folder and prints how a program gets them.
func serve(ctx context.Context, dir string, out io.Writer) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	tree, err := os.MkdirTemp("", "proxy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tree)
	version := "v0.0.0-" + time.Now().UTC().Format("20060102150405") // of its own, so that no module cache has it
	repo, err := copyTree(ctx, ".", tree)
	if err != nil {
		return err
	}
	if err := errors.Join(repo.setVersion(version), repo.writeProxy(dir, version)); err != nil {
		return err
	}
	root := repo.modules[0].path
	_, err = fmt.Fprintf(out, "GOPROXY=%s,$(go env GOPROXY) GONOSUMDB=%s GOFLAGS=-mod=mod go get %s@%s\n", fileURL(dir), filepath.ToSlash(filepath.Dir(root)), root, version)
	return err
}
