package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// release sets the version of all modules and prints the commands that publish them. It changes no
// file unless the version, CHANGELOG.md and the go.mod files are in order. tags are the
// existing tags.
func (r *repository) release(version string, tags []string, out io.Writer) error {
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if err := errors.Join(r.check(), r.checkVersion(version, tags), checkChangelog(string(changelog), version)); err != nil {
		return err
	}
	contents, err := r.files(version)
	if err != nil {
		return err
	}
	names, err := r.stale(contents)
	if err != nil {
		return err
	}
	if err := r.write(names, contents); err != nil {
		return err
	}
	fmt.Fprintln(out, "make lint test")
	if len(names) > 0 {
		fmt.Fprintf(out, "git commit -a -m 'Release %s'\n", version)
	}
	published := r.tags(version)
	for _, tag := range published {
		fmt.Fprintf(out, "git tag -m '%s' %s\n", tag, tag)
	}
	_, err = fmt.Fprintf(out, "git push --atomic origin HEAD %s\ngh workflow run release.yml --ref %s\n", strings.Join(published, " "), version)
	return err
}

// tags returns the tags of a version: one for each module that users can install.
func (r *repository) tags(version string) []string {
	var tags []string
	for _, m := range r.modules {
		if !m.internal() {
			tags = append(tags, m.tag(version))
		}
	}
	return tags
}

// checkVersion accepts versions such as v0.2.0 and v1.0.0-rc.1 that are not below the present one
// and have no tag.
func (r *repository) checkVersion(version string, tags []string) error {
	current, err := r.version()
	if err != nil {
		return err
	}
	major := semver.Major(version)
	if !semver.IsValid(version) || semver.Canonical(version) != version || major != "v0" && major != "v1" {
		return fmt.Errorf("version %q, allowed: v0.N.N and v1.N.N, with -PRERELEASE or without; from v2 on module paths would end in /v2", version)
	}
	if semver.Compare(version, current) < 0 {
		return fmt.Errorf("version %s, allowed: %s, which the modules require now, or later", version, current)
	}
	for _, tag := range r.tags(version) {
		if slices.Contains(tags, tag) {
			return fmt.Errorf("version %s: tag %s exists; a version that was published cannot change", version, tag)
		}
	}
	return nil
}

var changelogHeading = regexp.MustCompile(`(?m)^## .*$`)

// checkChangelog wants a dated section for the version, and no entries left under Unreleased.
func checkChangelog(text, version string) error {
	number := strings.TrimPrefix(version, "v")
	dated := regexp.MustCompile(`^## ` + regexp.QuoteMeta(number) + ` - \d{4}-\d{2}-\d{2}$`)
	found, unreleased := false, false
	headings := changelogHeading.FindAllStringIndex(text, -1)
	for i, at := range headings {
		end := len(text)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		heading, body := text[at[0]:at[1]], strings.TrimSpace(text[at[1]:end])
		switch {
		case dated.MatchString(heading) && body == "":
			return fmt.Errorf("CHANGELOG.md: section %q is empty", heading)
		case dated.MatchString(heading):
			found = true
		case heading == "## Unreleased" && body != "":
			return fmt.Errorf("CHANGELOG.md: Unreleased has entries; put the heading %q above them", "## "+number+" - YYYY-MM-DD")
		case heading == "## Unreleased":
			unreleased = true
		}
	}
	switch {
	case !found:
		return fmt.Errorf("CHANGELOG.md: no section %q", "## "+number+" - YYYY-MM-DD")
	case !unreleased:
		return errors.New("CHANGELOG.md: no section \"## Unreleased\" for changes to come")
	}
	return nil
}
