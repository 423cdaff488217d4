// Package report writes the results of bench: as tables for a terminal or in Markdown, as CSV and
// as JSON.
package report

import (
	"cmp"
	"encoding/json"
	"io"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"
)

// Facts head the results of a command: the command line, the start, the commit and the machine.
type Facts struct {
	Command string    `json:"command"`
	Date    time.Time `json:"date"`
	Commit  string    `json:"commit" jsonschema:"with ' and changes' unless the tree was as committed; '': unknown"`
	Machine Machine   `json:"machine"`
}

// NewFacts returns the facts of a measurement that begins now.
func NewFacts(commandLine string) Facts {
	return Facts{commandLine, time.Now().UTC().Truncate(time.Second), commit(), thisMachine()}
}

// Measured returns the commit for a heading.
func (f Facts) Measured() string { return "commit " + cmp.Or(f.Commit, "unknown") }

// commit returns the commit that the program was built from, as the build has recorded it. go run
// records none, and the working tree tells it.
func commit() string {
	revision, changed := "", false
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				revision = s.Value
			case "vcs.modified":
				changed = s.Value == "true"
			}
		}
		if revision == "" && info.Main.Sum != "" {
			return info.Main.Version // installed by version
		}
	}
	if revision == "" {
		out, err := exec.Command("git", "rev-parse", "HEAD").Output()
		if err != nil {
			return ""
		}
		revision = strings.TrimSpace(string(out))
		// The report itself may be the change: an earlier run has written it.
		changed = exec.Command("git", "diff", "--quiet", "HEAD", "--", ":/", ":(top,exclude)docs/benchmarks").Run() != nil
	}
	revision = revision[:min(12, len(revision))]
	if changed {
		revision += " and changes"
	}
	return revision
}

// A Machine is the environment that the figures depend on.
type Machine struct {
	GoVersion  string `json:"go_version"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	CPU        string `json:"cpu"`
	CPUs       int    `json:"cpus"`
	GOMAXPROCS int    `json:"gomaxprocs"`
}

func thisMachine() Machine {
	return Machine{
		GoVersion:  runtime.Version(),
		OS:         runtime.GOOS,
		Arch:       runtime.GOARCH,
		CPU:        cmp.Or(strings.Join(strings.Fields(cpuid.CPU.BrandName), " "), "unknown CPU"),
		CPUs:       runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
	}
}

// WriteJSON writes v as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Median returns the median of a list that is not empty.
func Median(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}
