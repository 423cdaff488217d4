//go:build !race && !uidring_nopin && gc && (amd64 || arm64)

package cached_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

func TestWhatIsOnThePathOfAnIDIsInlined(t *testing.T) {
	for name, funcs := range map[string][]string{
		"ringbuffer": {"(*Ring).Current", "(*Block).Take"},
		"cached":     {"(*Lane).Next", "(*word).get", "(*word).set"},
	} {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-m", "../"+name)
		cmd.Env = append(cmd.Environ(), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
		for _, f := range funcs {
			if !regexp.MustCompile(`can inline ` + regexp.QuoteMeta(f) + `\b`).Match(out) {
				t.Errorf("%s: %s is not inlined any more", name, f)
			}
			if f == "(*Lane).Next" || f == "(*Ring).Current" {
				continue // for callers elsewhere
			}
			if !strings.Contains(string(out), "inlining call to "+f) {
				t.Errorf("%s: no call of %s is inlined any more", name, f)
			}
		}
	}
}
