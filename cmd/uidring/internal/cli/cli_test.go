package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/spf13/cobra"
)

// The tests run in a zone that is not UTC, which reveals a time printed without .UTC().
func init() { time.Local = time.FixedZone("Asia/Kolkata", 5*3600+1800) }

// run runs the command. It returns the exit code and the output.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = Main(args, strings.NewReader(stdin), &out, &err)
	return code, out.String(), err.String()
}

// quietly runs the command, which must succeed and leave stderr empty. It returns the output.
func quietly(t *testing.T, args ...string) string {
	t.Helper()
	code, out, err := run(t, "", args...)
	if code != exitOK || err != "" {
		t.Fatalf("uidring %q: exit code %d, stderr %q", args, code, err)
	}
	return out
}

// wants runs the command, and compares its exit code and both outputs.
func wants(t *testing.T, stdin string, args []string, code int, stdout, stderr string) {
	t.Helper()
	gotCode, gotOut, gotErr := run(t, stdin, args...)
	if gotCode != code {
		t.Errorf("uidring %q: exit code %d, want %d", args, gotCode, code)
	}
	if want := strings.TrimPrefix(stdout, "\n"); gotOut != want {
		t.Errorf("uidring %q: stdout\n%s, want\n%s", args, gotOut, want)
	}
	if want := strings.TrimPrefix(stderr, "\n"); gotErr != want {
		t.Errorf("uidring %q: stderr\n%s, want\n%s", args, gotErr, want)
	}
}

// decode reads JSON that the command printed.
func decode[T any](t *testing.T, text string) (value T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// clean empties the environment variables that the command reads, and moves the home folder.
func clean(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("STATE_DIRECTORY", "")
	for _, text := range os.Environ() {
		if name, _, _ := strings.Cut(text, "="); strings.HasPrefix(name, "UIDRING_") {
			t.Setenv(name, "")
		}
	}
}

func TestUsageErrorIsOneLine(t *testing.T) {
	clean(t)
	for args, want := range map[string]string{
		"pars":            `unknown command "pars" for "uidring"; Did you mean this?; parse; see uidring --help`,
		"workers lst":     `unknown command "lst" for "uidring workers"; see uidring workers --help`,
		"--nonsense":      "unknown flag: --nonsense; see uidring --help",
		"plan now":        `unknown command "now" for "uidring plan"; see uidring plan --help`,
		"parse":           "requires at least 1 arg(s), only received 0; see uidring parse --help",
		"plan":            `required flag(s) "rate" not set; see uidring plan --help`,
		"plan --rate 50k": `invalid argument "50k" for "--rate" flag: strconv.ParseFloat: parsing "50k": invalid syntax; see uidring plan --help`,
		"parse --epoch now 1": `invalid argument "now" for "--epoch" flag: allowed: milliseconds since 1970, 2026-11-21, 2026-11-21T15:04:05 (both UTC), ` +
			"or with a zone as in 2026-11-21T15:04:05+01:00; see uidring parse --help",
		"parse --epoch 2026 1": `invalid argument "2026" for "--epoch" flag: ambiguous: milliseconds since 1970 have 12 digits or more, ` +
			"allowed: 2026-11-21, or 1795219200000; see uidring parse --help",
		"parse --layout 60/0/9/9 1":                                  "bitsalloc: invalid layout: DeltaBits 60 + DatacenterBits 0 + WorkerBits 9 + SequenceBits 9 = 78, allowed: at most 63",
		"range --from 2026-11-22 --to 2026-11-21":                    "--to 2026-11-21T00:00:00Z, allowed: later than --from 2026-11-22T00:00:00Z",
		"plan --rate NaN --years 1000 --processes 0 --datacenters 0": "rate NaN, allowed: 0 to 1e18 IDs a second; processes 0, allowed: 1 to 1e12; years 1000, allowed: above 0, at most 290; datacenters 0, allowed: 1 to 1e12",
		"plan --rate 1 --start 2025-01-01":                           "--start 2025-01-01T00:00:00Z, allowed: not before --epoch 2026-01-01T00:00:00Z",
		"schema":                                                     "name the database: mysql, postgres or sqlite",
		"schema oracle":                                              `unknown database "oracle", allowed: mysql, postgres, sqlite`,
		"schema mysql node":                                          `which tables? "node", allowed: leases, nodes, segments`,
		"schema mysql --apply":                                       "--store is missing, allowed: the URL of a store, here or in UIDRING_STORE; uidring serve uses \"sqlite:///ids/uidring.db\" without one",
		"workers list --store sqlite:ids.db --timeout 0s":            "--timeout 0s, allowed: above 0",
		"workers list --store mysql://ids:sesame@h":                  `store: mysql URL: path "", allowed: / and the name of a database`,
		"workers revoke x --store sqlite:ids.db":                     `worker ID "x", allowed: a number`,
		"workers recover --store sqlite:ids.db --ahead -1h":          "--ahead -1h0m0s, allowed: 0 or more, such as 1h",
		"workers namespaces --store file:///ids":                     "--store file:///ids, allowed: a store of several namespaces, which a folder is not",
		"migrate check --old baidu":                                  "requires at least 1 arg(s), only received 0; see uidring migrate check --help",
		"migrate check --old baidu x":                                `argument 1: "x", allowed: decimal IDs from -2^63 to 2^63 - 1`,
		"migrate check --old mist 1": `--old "mist", allowed: baidu, twitter, bwmarrin, snowflake, leaf, sonyflake, sonyflake-v2, counter, or a layout: ` +
			`bitsalloc: invalid layout: "mist", allowed: default, recommended, baidu, snowflake, javascript, or widths and unit such as 28/5/17/13 or 41/0/10/12@1ms`,
		"migrate pin --old 29/0/21/13":                          `--old "29/0/21/13@1s" --old-epoch "", allowed: baidu, or the layout and the epoch of the Java services`,
		"migrate pin --old sonyflake --old-epoch 2016-09-20":    `--old "sonyflake" --old-epoch "2016-09-20T00:00:00Z", allowed: baidu, or the layout and the epoch of the Java services`,
		"migrate pin --old baidu --store redis://127.0.0.1:1/0": "--store redis://127.0.0.1:1/0, allowed: the URL of an SQL database, sqlite:, mysql: or postgres:",
	} {
		t.Setenv("STATE_DIRECTORY", "/ids")
		wants(t, "", strings.Fields(args), exitUsage, "", "uidring: "+want+"\n")
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

func TestEnvironmentReplacesFlags(t *testing.T) {
	clean(t)
	t.Setenv("UIDRING_LAYOUT", "baidu")
	t.Setenv("UIDRING_EPOCH", "2016-05-20T00:00:00+08:00")
	if out := quietly(t, "parse", "3200169789968523265"); !strings.Contains(out, "2019-05-02T15:26:39Z") {
		t.Errorf("printed %s, want the time of Baidu's example", out)
	}
	if out := quietly(t, "parse", "--layout", "default", "--epoch", "1767225600000", "176636547297255431"); !strings.Contains(out, "2026-03-01T12:00:00Z") {
		t.Errorf("printed %s, want flags before the environment", out)
	}
	if out := quietly(t, "plan", "--rate", "1", "--start", "2026-11-21"); !strings.Contains(out, "\ngiven ") {
		t.Errorf("printed\n%s, want a row for the layout of the environment", out)
	}
	t.Setenv("UIDRING_EPOCH", "sesame")
	t.Setenv("UIDRING_LAYOUT", "1/2")
	for _, command := range []string{"parse 1", "serve"} {
		code, out, stderr := run(t, "", strings.Fields(command)...)
		if code != exitUsage || out != "" || strings.Count(stderr, "\n") != 1 ||
			!strings.Contains(stderr, `UIDRING_EPOCH: invalid argument "sesame"`) || !strings.Contains(stderr, `UIDRING_LAYOUT: invalid argument "1/2"`) {
			t.Errorf("uidring %s: exit code %d, %q, want one line with both mistakes", command, code, stderr)
		}
	}
}

func TestUnknownVariables(t *testing.T) {
	clean(t)
	for _, name := range []string{"UIDRING_STOR", "UIDRING_TLS-CERT", "UIDRING_RATE", "UIDRING_TOKEN", "UIDRING_SERVICE_HOST",
		"UIDRING_ADMIN_SERVICE_PORT_HTTP", "UIDRING_PORT", "UIDRING_PORT_8080_TCP_ADDR"} {
		t.Setenv(name, "1")
	}
	const want = "uidring: warning: unknown variables UIDRING_STOR, UIDRING_TLS-CERT; see uidring serve --help\n"
	if code, _, err := run(t, "", "parse", "1"); code != exitOK || err != want {
		t.Errorf("exit code %d, %q", code, err)
	}
}

func TestHelpHasAnExample(t *testing.T) {
	var visit func(cmd *cobra.Command, path ...string)
	visit = func(cmd *cobra.Command, path ...string) {
		if out := quietly(t, append(path, "--help")...); !strings.Contains(out, "Examples:\n  ") || strings.Contains(out, "\t") {
			t.Errorf("uidring %q --help has no example, or tabs:\n%s", path, out)
		}
		for _, sub := range cmd.Commands() {
			visit(sub, append(slices.Clone(path), sub.Name())...)
		}
	}
	visit(newRoot(&streams{}))
}

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestStreamThatFails(t *testing.T) {
	clean(t)
	var err strings.Builder
	if code := Main([]string{"parse", "-"}, iotest.ErrReader(errors.New("broken")), io.Discard, &err); code != exitFailure || err.String() != "uidring: read standard input: broken\n" {
		t.Errorf("exit code %d, %q", code, err.String())
	}
	for _, args := range []string{"parse 1", "parse --json 1", "range --from 2026-11-21 --to 2026-11-22", "plan --rate 1", "schema sqlite"} {
		err.Reset()
		if code := Main(strings.Fields(args), strings.NewReader(""), fullWriter{}, &err); code != exitFailure || !strings.Contains(err.String(), "file already closed") {
			t.Errorf("uidring %s: exit code %d, %q", args, code, err.String())
		}
	}
}
