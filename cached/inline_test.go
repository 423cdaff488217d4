//go:build !race && gc && (amd64 || arm64)

package cached_test

import (
	"bytes"
	"os/exec"
	"regexp"
	"testing"
)

func TestWhatIsOnThePathOfAnIDIsInlined(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-m", ".")
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	for _, f := range []string{"(*Ring).Current", "(*Block).Take"} {
		if !regexp.MustCompile(`next.go:\d+:\d+: inlining call to ringbuffer.` + regexp.QuoteMeta(f)).Match(out) {
			t.Errorf("Next does not inline %s any more", f)
		}
	}
}

func TestVetReportsCopiesOfALane(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "vet", "./testdata/copies")
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	if out, _ := cmd.CombinedOutput(); bytes.Count(out, []byte("Lane contains sync.Mutex")) != 2 {
		t.Errorf("%v: %s, want a report of both lanes", cmd, out)
	}
}
