package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testserver"
)

// mirrored is an expression: the title of the tab begins so, and its icon has the level.
func mirrored(title, level string) string {
	return fmt.Sprintf("document.title.startsWith(%q) && document.getElementById('icon').getAttribute('href') === 'assets/icon-%s.svg'", title, level)
}

// judges: the store goes, the lease ends, the ring runs dry, and the store comes back.
func judges(t *testing.T, browser context.Context) {
	s := newService(t, "", 3*time.Second)
	p := open(t, browser, s, light)
	p.await(verdictIs("Issuing") + " && " + mirrored("Issuing · ids-1 · worker 0 · uidring", "good"))
	colour := func() string {
		t.Helper()
		return evaluate[string](p, "getComputedStyle(document.getElementById('verdict-title')).color")
	}
	if got := colour(); got != "rgb(21, 128, 61)" {
		t.Errorf("a verdict that is good has the colour %s, want green", got)
	}
	// Each value is red from its limit on.
	if got, want := evaluate[string](p, `import('/assets/charts.js').then(({kinds}) => kinds.filter((kind) => kind.limits).map((kind) =>
		kind.id + ' ' + [-181, -180, 0, 0.49, 0.5, 9.9, 10, 599, 600].filter((y) => kind.bad(y, {ahead: 600, behind: -180, lease: 10, p99: 0.5}))).join('; '))`),
		"ahead -181,600; lease -181,-180,0,0.49,0.5,9.9; p99 0.5,9.9,10,599,600"; got != want {
		t.Errorf("red are %s, want %s", got, want)
	}
	back := s.loseStore()
	p.await(verdictIs("Store unreachable"))
	p.scan("store unreachable")
	s.load()
	p.await(verdictIs("Not issuing") + " && " + mirrored("Not issuing: no worker ID is held · ids-1", "bad"))
	if got := colour(); got != "rgb(185, 28, 28)" {
		t.Errorf("a verdict that is bad has the colour %s, want red", got)
	}
	p.await("['fill', 'lease'].every((id) => document.querySelector(`#chart-${id} .value`).classList.contains('bad'))")
	says := regexp.MustCompile(`^No IDs since \d\d:\d\d:\d\d UTC\. Store file:///var/lib/uidring has not answered since \d\d:\d\d:\d\d UTC: no such file or directory\. `)
	if got := p.text("verdict-detail"); !says.MatchString(got) || p.text("verdict-book") != "Run book" {
		t.Errorf("the page says %q, want why there are no IDs, and a link to the run book", got)
	}
	p.scan("not issuing, light")
	p.do(dark.action())
	p.scan("not issuing, dark", colours...)
	back()
	p.await("document.title.startsWith('Issuing')")
}

// showsTables: names are shown as text.
func showsTables(t *testing.T, browser context.Context) {
	s := newService(t, "", leaseWindow)
	testgen.Cached(t, cached.Config{Assigner: s.leased("<b>ids-2</b> pid 4711")})
	p := open(t, browser, s, light)
	const rows = "[...document.querySelectorAll('#servers-body tr')]"
	p.await(rows + ".length === 2")
	got := evaluate[[]string](p, rows+".map((row) => [row.children[0].innerText, row.children[1].innerText, row.className].join('|'))")
	if want := []string{"0|ids-1 pid 33|own", "1|<b>ids-2</b> pid 4711|"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("servers are %q, want %q", got, want)
	}
	if !evaluate[bool](p, rows+`.every((row) => /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\|[+−]?\d.*\|.* left$/.test([...row.children].slice(2).map((cell) => cell.innerText).join('|')))`) {
		t.Errorf("servers are\n%s\nwant the time of each fence, its distance and the time left", p.text("servers-body"))
	}
	if !evaluate[bool](p, "document.getElementById('segments').hidden") {
		t.Error("a service without segments shows their table")
	}
	s.withSegments("orders", "invoices")
	p = open(t, browser, s, light)
	const segmentRows = "[...document.querySelectorAll('#segments-body tr')].map((row) => row.innerText.replaceAll('\\t', ' | ')).join(', ')"
	p.await(segmentRows + " === 'invoices | not used yet | 0 | –, orders | not used yet | 0 | –'")
	if _, err := s.segments.All()[1].NextContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.await(segmentRows + " === 'invoices | not used yet | 0 | –, orders | 1 | 2 | 1,000'")
}

// samplesWork runs the commands that the page shows.
func samplesWork(t *testing.T, browser context.Context) {
	curl, python := testserver.Program(t, "curl", "curl"), testserver.Program(t, "python3", "python3")
	for _, tokens := range []string{"", "team " + secret + "\n"} {
		s := newService(t, tokens, leaseWindow)
		p := open(t, browser, s, light, "401 (Unauthorized)")
		if tokens != "" {
			p.await("!document.getElementById('sign-in').hidden")
			p.enter(secret)
		}
		p.await(shown)
		run := func(name string, args ...string) []byte {
			t.Helper()
			cmd := exec.CommandContext(t.Context(), name, args...)
			cmd.Env = append(cmd.Environ(), "UIDRING_TOKEN="+secret)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%s: %v\n%s", args, err, out)
			}
			return out
		}
		got := run("sh", "-c", strings.ReplaceAll(p.text("get-curl"), "curl ", curl+" -sS "))
		one, rest, _ := strings.Cut(string(got), "\n")
		var id struct{ ID string }
		if err := json.Unmarshal([]byte(one), &id); err != nil || id.ID == "" || len(strings.Fields(rest)) != 3 {
			t.Errorf("curl printed %q (%v), want one ID in JSON and three in lines", got, err)
		}
		var ids []int64
		if out := run(python, "-c", p.text("get-python")); json.Unmarshal(out, &ids) != nil || len(ids) != 3 {
			t.Errorf("python printed %q, want three IDs", out)
		}
		if text := evaluate[string](p, "document.body.innerText"); strings.Contains(text, secret) {
			t.Error("the page shows the token")
		}
	}
}
