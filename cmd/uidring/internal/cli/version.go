package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func newVersion(s *streams) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Prints what this program was built from, and with. uidring --version prints the same.",
		Example: "  uidring version",
		Args:    exactly(0, "none"),
		RunE:    func(*cobra.Command, []string) error { return write(s.out, "%v\n", readBuild()) },
	}
}

// version returns the version of the module, "(devel)" where the build does not know it.
func version() string { return readBuild().Version }

// A build names the version, the commit and the Go release that the program was built with.
type build struct {
	Version  string
	Commit   string
	Modified bool // the commit's files had been changed
	Go       string
	Platform string
}

func readBuild() build {
	v := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			v.Commit = setting.Value
		case "vcs.modified":
			v.Modified = setting.Value == "true"
		}
	}
	return v
}

// String is for people: "uidring v1.2.3 (commit 0123abc, go1.26.0, linux/amd64)".
func (v build) String() string {
	parts := []string{v.Go, v.Platform}
	if v.Commit != "" {
		commit := "commit " + v.Commit
		if v.Modified {
			commit += " with changes"
		}
		parts = append([]string{commit}, parts...)
	}
	return fmt.Sprintf("uidring %s (%s)", v.Version, strings.Join(parts, ", "))
}
