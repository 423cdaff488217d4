package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// run runs the command as on a terminal without colours. It returns the exit code and the output.
func run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = execute(&streams{in: strings.NewReader(stdin), out: &out, err: &err, tables: true}, args)
	return code, out.String(), err.String()
}

// When stdout is not a terminal, rows are tab-separated lines without a header.
func TestMainPrintsTabsForPrograms(t *testing.T) {
	clean(t)
	for args, want := range map[string]string{
		"parse 176636547297255431": "176636547297255431\t04WWA04002807\t0D2zpT7hYBT\t2026-03-01T12:00:00Z\t5140800\t4\t9\t7\n",
		"range --from 2026-11-21 --to 2026-11-22": "decimal\t961852771978444800\t964821453373439999\n" +
			"base32\t0TP9G00000000\t0TRXVZZZZZZZZ\nbase62\t193ILRIViHg\t19GtKjwYsBD\n",
	} {
		var out, err bytes.Buffer
		if code := Main(strings.Fields(args), strings.NewReader(""), &out, &err); code != exitOK || out.String() != want {
			t.Errorf("uidring %s: exit code %d, %q, %q; want %q", args, code, out.String(), err.String(), want)
		}
	}
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

func TestExitCode2IsOneLineOfUsage(t *testing.T) {
	clean(t)
	for _, row := range []struct {
		args string
		want string
	}{
		{"pars", `unknown command "pars"; did you mean parse? see uidring --help`},
		{"--nonsense", "unknown flag: --nonsense; see uidring --help"},
		{"migrate check --old baidu -5", "unknown shorthand flag: '5' in -5; write -- before negative numbers; see uidring migrate check --help"},
		{"version now", `arguments ["now"], allowed: none; see uidring version --help`},
		{"parse", "no arguments, allowed: IDs, or - for standard input; see uidring parse --help"},
		{"parse --form hex 1", `--form "hex": allowed: auto, decimal, base32, base62; see uidring parse --help`},
		{"parse --layout 1/2 1", `--layout "1/2": bitsalloc: invalid layout: "1/2", allowed: default, leased, baidu, snowflake, javascript, ` +
			"or widths and unit such as 28/5/17/13 or 41/0/10/12@1ms; see uidring parse --help"},
		{"parse --layout 60/0/9/9 1", `--layout "60/0/9/9": bitsalloc: invalid layout: DeltaBits 60 + DatacenterBits 0 + WorkerBits 9 + ` +
			"SequenceBits 9 = 78, allowed: at most 63; see uidring parse --help"},
		{"parse --layout 28/5/17/13@7s 1", `--layout "28/5/17/13@7s": bitsalloc: invalid layout: Unit 7s, allowed: whole ` +
			"milliseconds that divide one minute; see uidring parse --help"},
		{"parse --epoch now 1", `--epoch "now": allowed: milliseconds since 1970, 2026-11-21, 2026-11-21T15:04:05 (both UTC), or with a zone as in ` +
			"2026-11-21T15:04:05+01:00; see uidring parse --help"},
		{"parse --epoch 2026 1", `--epoch "2026": ambiguous: milliseconds since 1970 have 12 digits or more, allowed: 2026-01-01, or 1767225600000; see uidring parse --help`},
		{"plan --rate 50k", `--rate "50k", allowed: a number; see uidring plan --help`},
		{"workers list --timeout 10", `--timeout "10", allowed: a number with a unit, such as 30s, 5m or 1h30m; see uidring workers list --help`},
		{"range", "--from is missing, allowed: the beginning of the span, such as 2026-11-21; --to is missing, allowed: the end of the span, such as 2026-11-22"},
		{"range --from 2026-11-22 --to 2026-11-21", "--to 2026-11-21T00:00:00Z, allowed: later than --from 2026-11-22T00:00:00Z"},
		{"plan", "--rate is missing, allowed: IDs per second of all processes of a datacenter together"},
		{"plan --rate -1 --years 1000 --processes 0", "rate -1, allowed: 0 to 1e18 IDs a second; processes 0, allowed: 1 to 1e12; years 1000, allowed: above 0, at most 290"},
		{"plan --rate 1 --start 2025-01-01", "--start 2025-01-01T00:00:00Z, allowed: not before --epoch 2026-01-01T00:00:00Z"},
		{"schema", "which database? allowed: mysql, postgres, sqlite; see uidring schema --help"},
		{"schema mysql sqlite", `arguments ["mysql" "sqlite"], allowed: mysql, postgres or sqlite; see uidring schema --help`},
		{"schema oracle", `schema "oracle", allowed: mysql, postgres, sqlite`},
		{"schema mysql --store mysql://h/db", "--store without --apply, allowed: with --apply only"},
		{"schema mysql --apply --store sqlite:ids.db", "schema mysql with --store of another database, allowed: a URL that begins with mysql:"},
		{"schema mysql --apply", "--store is missing, allowed: the URL of a store, here or in UIDRING_STORE, such as mysql://user:password@host:3306/database"},
		{"workers list --store sqlite:ids.db --timeout 0s", "--timeout 0s, allowed: above 0"},
		{"workers list --store mysql://ids:sesame@h", "store: mysql URL: no database, allowed: mysql://user:password@host:3306/database"},
		{"workers revoke x --store sqlite:ids.db", `worker ID "x", allowed: a number, 0 or more`},
		{"workers recover --store sqlite:ids.db", "--ahead is missing, allowed: a duration to raise the fences by, such as 1h; it has no default"},
		{"workers recover --store sqlite:ids.db --ahead -1h", "--ahead -1h0m0s, allowed: 0 or more, such as 1h"},
	} {
		wants(t, "", strings.Fields(row.args), 2, "", "uidring: "+row.want+"\n")
	}
}

// TestExitCodesStayTheSame compares with numbers: unit files and scripts rely on them.
func TestExitCodesStayTheSame(t *testing.T) {
	unit, err := os.ReadFile("../../../../docs/operations/uidring.service")
	if err != nil || !bytes.Contains(unit, []byte("\nRestartPreventExitStatus=2\n")) {
		t.Errorf("uidring.service, %v: systemd would start a server with invalid settings again", err)
	}
	for _, row := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("no worker ID"), 1},
		{errReported, 1},
		{usageError{errors.New("rate")}, 2},
		{errUnconfirmed, 3},
		{errNotAbove, 4},
		{context.Canceled, 130},
	} {
		s := &streams{err: io.Discard}
		if got := s.exit(row.err); got != row.want {
			t.Errorf("%v: exit code %d, want %d", row.err, got, row.want)
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
	if out := quietly(t, "parse", "--layout", "default", "--epoch", "2026-01-01", "176636547297255431"); !strings.Contains(out, "2026-03-01T12:00:00Z") {
		t.Errorf("printed %s, want flags before the environment", out)
	}
	if out := quietly(t, "parse", "--epoch", "1463673600000", "3200169789968523265", "--layout", "baidu"); !strings.Contains(out, "2019-05-02T15:26:39Z") {
		t.Errorf("printed %s, want milliseconds read", out)
	}
	if out := quietly(t, "plan", "--rate", "1", "--start", "2026-11-21"); !strings.Contains(out, "\ngiven ") {
		t.Errorf("printed\n%s, want a row for the layout of the environment", out)
	}
	t.Setenv("UIDRING_STORE", "mysql://h")
	wants(t, "", []string{"workers", "list"}, exitUsage, "", "uidring: store: mysql URL: no database, allowed: mysql://user:password@host:3306/database\n")
	t.Setenv("UIDRING_EPOCH", "sesame")
	wants(t, "", []string{"parse", "1"}, exitUsage, "", `uidring: UIDRING_EPOCH "sesame": `+"allowed: milliseconds since 1970, 2026-11-21, 2026-11-21T15:04:05 (both UTC), or with a zone as in "+
		"2026-11-21T15:04:05+01:00\n")
	wants(t, "", []string{"range", "--json=x"}, exitUsage, "", `uidring: --json "x", allowed: true or false; `+
		"see uidring range --help\n")
}

func TestUnknownVariables(t *testing.T) {
	clean(t)
	for _, name := range []string{"UIDRING_STOR", "UIDRING_TLS-CERT", "UIDRING_RATE", "UIDRING_TOKEN", "UIDRING_SERVICE_HOST",
		"UIDRING_ADMIN_SERVICE_PORT_HTTP", "UIDRING_PORT", "UIDRING_PORT_8080_TCP_ADDR"} {
		t.Setenv(name, "1")
	}
	const warning = "unknown variables UIDRING_STOR, UIDRING_TLS-CERT"
	if code, _, err := run(t, "", "parse", "1"); code != exitOK || err != "uidring: warning: "+warning+"; the help of each command names its variables\n" {
		t.Errorf("exit code %d, %q", code, err)
	}
	if code, _, err := run(t, "", "version"); code != exitOK || err != "" {
		t.Errorf("version reads no variables: exit code %d, %q", code, err)
	}
	taken, errListen := net.Listen("tcp", "127.0.0.1:0")
	if errListen != nil {
		t.Fatal(errListen)
	}
	defer taken.Close()
	code, _, err := run(t, "", "serve", "--listen="+taken.Addr().String(), "--data="+t.TempDir())
	if code != exitFailure || !strings.Contains(err, `msg="unknown variables" names="[UIDRING_STOR UIDRING_TLS-CERT]"`) {
		t.Errorf("exit code %d, %q", code, err)
	}
}

// serve has made a store on this host: the error for a missing URL names it.
func TestStoreNamesTheDefaultOfServe(t *testing.T) {
	clean(t)
	data := t.TempDir()
	t.Setenv("STATE_DIRECTORY", data)
	if err := os.WriteFile(filepath.Join(data, "uidring.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wants(t, "", []string{"workers", "list"}, exitUsage, "", "uidring: --store is missing, allowed: the URL of a store, here or in UIDRING_STORE, such as sqlite://"+data+"/uidring.db\n")
}

func TestHelpHasAnExample(t *testing.T) {
	var paths [][]string
	root := newRoot(&streams{})
	for _, cmd := range root.Commands() {
		paths = append(paths, []string{cmd.Name()})
		for _, sub := range cmd.Commands() {
			paths = append(paths, []string{cmd.Name(), sub.Name()})
		}
	}
	if len(paths) < 10 {
		t.Fatalf("commands %q", paths)
	}
	for _, path := range append(paths, nil) {
		if len(path) > 0 && (path[0] == "completion" || path[0] == "help") {
			continue // cobra's own commands
		}
		out := quietly(t, append(path, "--help")...)
		if !strings.Contains(out, "Examples:\n  ") || strings.Contains(out, "\t") {
			t.Errorf("uidring %q --help has no example, or tabs:\n%s", path, out)
		}
	}
}

func TestVersion(t *testing.T) {
	v := readBuild()
	if v.Version == "" || !strings.HasPrefix(v.Go, "go1.") || !strings.Contains(v.Platform, "/") {
		t.Errorf("version %+v", v)
	}
	const want = "uidring (devel) (commit 0123abc with changes, go1.26.0, linux/amd64)"
	if got := (build{"(devel)", "0123abc", true, "go1.26.0", "linux/amd64"}).String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, arg := range []string{"version", "--version"} {
		if out := quietly(t, arg); out != readBuild().String()+"\n" {
			t.Errorf("uidring %s: printed %q", arg, out)
		}
	}
}
