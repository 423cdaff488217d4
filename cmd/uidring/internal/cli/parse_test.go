package cli

import (
	"io"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	clean(t)
	wants(t, "", []string{"parse", "22079567884713991", "00kkh80090007"}, exitOK, `
ID                   BASE32         BASE62       TIME                      DELTA          DATACENTER  WORKER    SEQUENCE
22079567884713991    00KKH80090007  01d7jAoW61H  2026-03-01T12:00:00Z      5140800        0           9         7
22079567884713991    00KKH80090007  01d7jAoW61H  2026-03-01T12:00:00Z      5140800        0           9         7
`, "")
	wants(t, "", []string{"parse", "--layout", "snowflake", "--epoch", "2010-11-04T01:42:54.657Z", "1541815603606036480"}, exitOK, `
ID                   BASE32         BASE62       TIME                      DELTA          DATACENTER  WORKER    SEQUENCE
1541815603606036480  1ASD13XH1F800  1ptWyK4WgZU  2022-06-28T16:07:40.105Z  367597485448   0           378       0
`, "")
	if out := quietly(t, "parse", "--form", "base62", "12345678901"); !strings.Contains(out, "\n867042935339397333 ") {
		t.Errorf("printed %s, want the ID of the form", out)
	}
}

func TestParseReportsTextsThatAreNoIDs(t *testing.T) {
	clean(t)
	const id = `{"id":"22079567884713991","base32":"00KKH80090007","base62":"01d7jAoW61H","delta":5140800,"datacenter":0,"worker":9,"sequence":7,"time":"2026-03-01T12:00:00Z"}` + "\n"
	wants(t, "\n22079567884713991\r\nnonsense\n  01d7jAoW61H \n-5\n0\n00KKH8009000U", []string{"parse", "--json", "x", "-", "00KKH80090007"}, exitFailure, id+id+id, `
uidring: argument 1: malformed ID: no form has 1 characters, allowed: decimal digits, 13 characters of base32, 11 of base62
uidring: line 1: malformed ID: decimal "": no digits, allowed: decimal digits without sign or leading zero
uidring: line 3: malformed ID: no form has 8 characters, allowed: decimal digits, 13 characters of base32, 11 of base62
uidring: line 5: ID out of range: decimal "-5": negative, allowed: 0 to 9223372036854775807; uidring migrate check reads the negative IDs of Java services
uidring: line 6: bitsalloc: invalid ID: 0, allowed with layout 31/0/12/20@1s: 1 to 9223372036854775807
uidring: line 7: malformed ID: base32 "00KKH8009000U": character "U" at offset 12, allowed: 13 characters of 0-9 and A-Z but U
`)
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

func TestRange(t *testing.T) {
	clean(t)
	wants(t, "", strings.Fields("range --from 2026-11-21T01:00:00+01:00 --to 2026-11-22T00:00:00 --json"), exitOK,
		`{"first":"120231596497305600","last":"120602681671679999","from":"2026-11-21T00:00:00Z","to":"2026-11-22T00:00:00Z"}`+"\n", "")
	wants(t, "", strings.Fields("range --from 2020-11-21 --to 2021-11-22"), exitFailure, "",
		"uidring: no IDs from 2020-11-21T00:00:00Z to 2021-11-22T00:00:00Z: layout 31/0/12/20@1s has IDs from 2026-01-01T00:00:00Z to 2094-01-19T03:14:08Z\n")
}
