// Package report writes the results of bench as tables, for a terminal or in Markdown.
package report

import (
	"cmp"
	"fmt"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"
)

// Facts head the results of a command.
type Facts struct {
	Command    string // command line
	Date       time.Time
	Commit     string // "unknown", or with " and changes" unless the tree was as committed
	CPU        string
	CPUs       int
	GOMAXPROCS int
	Go         string // version, system and architecture
}

// NewFacts returns the facts of a measurement that begins now.
func NewFacts(commandLine string) Facts {
	return Facts{
		Command: commandLine, Date: time.Now().UTC().Truncate(time.Second), Commit: commit(),
		CPU:  cmp.Or(strings.Join(strings.Fields(cpuid.CPU.BrandName), " "), "unknown CPU"),
		CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		Go: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// String returns all facts in one line.
func (f Facts) String() string {
	return fmt.Sprintf("%s, %s, GOMAXPROCS %d, %s, %s, commit %s",
		f.CPU, Counted(f.CPUs, "CPU"), f.GOMAXPROCS, f.Go, f.Date.Format("2006-01-02 15:04 MST"), f.Commit)
}

// commit returns the version of an installed program. go run records none: then it returns the
// commit of the working tree.
func commit() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Sum != "" {
		return info.Main.Version
	}
	out, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	revision := strings.TrimSpace(string(out))
	// The report itself may be the change: an earlier run has written it.
	if exec.Command("git", "diff", "--quiet", "HEAD", "--", ":/", ":(top,exclude)docs/benchmarks").Run() != nil {
		revision += " and changes"
	}
	return revision
}
