package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/remoteassigner"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// run runs the command. It returns the exit code and the output.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = Main(args, strings.NewReader(stdin), &out, &err)
	return code, out.String(), err.String()
}

// quietly runs the command without variables. It must succeed and leave stderr empty. quietly
// returns the output.
func quietly(t *testing.T, args ...string) string {
	t.Helper()
	clean(t)
	code, out, err := run(t, "", args...)
	if code != exitOK || err != "" {
		t.Fatalf("uidring %q: exit code %d, stderr %q", args, code, err)
	}
	return out
}

// clean empties the environment variables that are settings.
func clean(t *testing.T) {
	for _, text := range os.Environ() {
		if name, _, _ := strings.Cut(text, "="); strings.HasPrefix(name, "UIDRING_") {
			t.Setenv(name, "")
		}
	}
}

// TestExitCodesStayTheSame compares with numbers: unit files and scripts rely on them.
func TestExitCodesStayTheSame(t *testing.T) {
	unit, err := os.ReadFile("../../../../docs/operations/uidring.service")
	if err != nil || !bytes.Contains(unit, []byte("\nRestartPreventExitStatus=64\n")) {
		t.Errorf("uidring.service, %v: systemd would start a server with invalid settings again", err)
	}
	for code, err := range map[int]error{
		0: nil, 1: errReported, 3: errUnconfirmed, 4: errNotAbove, 64: usageError{errors.New("rate")}, 130: context.Canceled,
	} {
		s := &streams{err: io.Discard}
		if got := s.exit(err); got != code {
			t.Errorf("%v: exit code %d, want %d", err, got, code)
		}
	}
}

func TestHelpHasAnExample(t *testing.T) {
	wide := regexp.MustCompile("(?m)^.{81}")
	var visit func(cmd *cobra.Command, path ...string)
	visit = func(cmd *cobra.Command, path ...string) {
		if out := quietly(t, append(path, "--help")...); !strings.Contains(out, "Examples:\n  ") || strings.Contains(out, "\t") || wide.MatchString(out) {
			t.Errorf("uidring %q --help has no example, tabs, or a line of more than 80 columns:\n%s", path, out)
		}
		for _, sub := range cmd.Commands() {
			visit(sub, append(slices.Clone(path), sub.Name())...)
		}
	}
	visit(newRoot(&streams{}))
}

// A folder that the service offers to others has one namespace, too, whose name is a part of each
// request.
func TestNamespacesOfAFolderBehindAServer(t *testing.T) {
	clean(t)
	folder := fileassigner.LeaseStore(testserver.DiskFolder(t), fileassigner.Config{})
	_, err := folder.SwapMeta(t.Context(), leasestore.Meta{}, leasestore.Meta{Version: 1})
	testkit.Must(t, err)
	server := httptest.NewServer(remoteassigner.NewHandler(func(name string) leasestore.Store {
		return map[string]leasestore.Store{"orders": folder}[name]
	}))
	t.Cleanup(server.Close)
	code, out, stderr := run(t, "", "workers", "namespaces", "--store", server.URL)
	if code != exitFailure || out != "" || !strings.Contains(stderr, "start the server with --leases and this namespace, or name one that it offers") {
		t.Errorf("without a namespace: exit code %d, %q, %s", code, out, stderr)
	}
	code, out, stderr = run(t, "", "workers", "namespaces", "--namespace", "orders", "--store", server.URL)
	if code != exitUsage || out != "" || !strings.Contains(stderr, "--store "+server.URL+", allowed: a store of several namespaces, which a folder is not") {
		t.Errorf("exit code %d, %q, %s", code, out, stderr)
	}
}

// A standby ends no call early, since it may become the primary. More time is no remedy.
func TestReadOnlyServerDoesNotLackTime(t *testing.T) {
	clean(t)
	code, _, stderr := run(t, "", "workers", "list", "--timeout", "1s", "--store", testserver.PostgreSQL(t).DSN()+"&default_transaction_read_only=on")
	if code != exitFailure || !strings.Contains(stderr, "store not durable") || strings.Contains(stderr, "--timeout") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// A slow pipe gets each row before the next line arrives.
func TestParseAnswersLineByLine(t *testing.T) {
	clean(t)
	in, lines := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan int)
	go func() {
		done <- Main([]string{"parse", "--json", "-"}, in, out, io.Discard)
		_ = out.Close()
	}()
	buffer := make([]byte, 4096)
	for range 3 {
		if _, err := io.WriteString(lines, "22079567884713991\n"); err != nil {
			t.Fatal(err)
		}
		if n, err := answers.Read(buffer); err != nil || !strings.HasPrefix(string(buffer[:n]), `{"id":"22079567884713991"`) {
			t.Fatalf("answer %q, %v", buffer[:n], err)
		}
	}
	_ = lines.Close()
	if code := <-done; code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// FuzzParseLines: each input line gives one line on stdout or stderr.
func FuzzParseLines(f *testing.F) {
	f.Add("22079567884713991\n\nnonsense\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n")
		if text != "" && !strings.HasSuffix(text, "\n") {
			lines++
		}
		code, out, err := run(t, text, "parse", "--json", "--layout", "default", "--epoch", "2026-01-01", "-")
		bad := strings.Count(err, "\n")
		if got := strings.Count(out, "\n") + bad; got != lines || (code == exitOK) != (bad == 0) {
			t.Errorf("%q: exit code %d, %d lines, want %d\n%s%s", text, code, got, lines, out, err)
		}
	})
}
