package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/testgen"
	"github.com/uidring/uidring/internal/testkit/testserver"
)

// mirrored is an expression: the title of the tab begins so, and its icon has the level.
func mirrored(title, level string) string {
	return fmt.Sprintf("document.title.startsWith(%q) && document.getElementById('icon').getAttribute('href') === 'assets/icon-%s.svg'", title, level)
}

// judges: the store goes, the lease ends, the ring runs dry, and the store comes back.
func judges(t *testing.T, browser context.Context) {
	s := newServiceWith(t, cached.Config{}, "", 3*time.Second)
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
	s.load(1000, 5*time.Millisecond)
	p.await(verdictIs("Not issuing") + " && " + mirrored("Not issuing: no worker ID is held · ids-1", "bad"))
	if got := colour(); got != "rgb(185, 28, 28)" {
		t.Errorf("a verdict that is bad has the colour %s, want red", got)
	}
	p.await("['fill', 'lease'].every((id) => document.querySelector(`#chart-${id} .value`).classList.contains('bad'))")
	if got := p.text("verdict-detail"); !strings.HasPrefix(got, "The store of worker IDs has not renewed the lease.") {
		t.Errorf("the page says %q, want why there are no IDs", got)
	}
	p.scan("not issuing, light")
	p.do(dark.action())
	p.scan("not issuing, dark", colours...)
	back()
	p.await("document.title.startsWith('Issuing')")
}

func judgesOutOfSight(t *testing.T, browser context.Context) {
	s := newServiceWith(t, cached.Config{}, "", 3*time.Second)
	p := open(t, browser, s, light, "503 (Service Unavailable)")
	p.await(shown)
	p.hide()
	p.await(mirrored("Ready · ids-1", "good"))
	s.loseStore()
	s.load(1000, 5*time.Millisecond)
	p.await(mirrored("Not ready · ids-1", "bad"))
	p.show()
	p.await(live + " && " + mirrored("Not issuing: no worker ID is held", "bad"))
}

func beginsWithHistory(t *testing.T, browser context.Context) {
	s := newService(t, cached.Config{}, "")
	first := open(t, browser, s, light)
	const readings = "document.querySelectorAll('#readings-body tr').length"
	first.await(shown)
	first.unfold("readings")
	first.await(readings + " >= 10")
	times := evaluate[[]string](first, "[...document.querySelectorAll('#readings-body th')].map((cell) => cell.innerText)")
	first.close()
	second := open(t, browser, s, light)
	second.await(shown)
	second.unfold("readings")
	second.await(readings + " >= 10")
	oldest := evaluate[string](second, "import('/assets/charts.js').then(({rows}) => rows(10_000).at(-1)[0])")
	if oldest > times[len(times)-1] {
		t.Errorf("the second visit begins with a reading of %s, want the readings of the first, from %s on", oldest, times[len(times)-1])
	}
}

func drawsTheRing(t *testing.T, _ *service, p *tab) {
	p.await("document.querySelector('.ring').ariaLabel === 'The ring: 8 of 8 blocks of IDs are ready'")
	// lengths of the arcs, in percent of each
	draw := func(name string, capacity, ready, gone int64) string {
		return evaluate[string](p, fmt.Sprintf(`import('/assets/ring.js?%s').then(({Ring}) => {
			const ring = new Ring();
			ring.update({capacity: %d, block: 100, ready: %d, gone: %dn});
			return [...ring.element.querySelectorAll('.ids')].map((arc) =>
				Math.round(-arc.getAttribute('stroke-dashoffset')) + '+' + Math.round(arc.getAttribute('stroke-dasharray').split(' ')[0])).join(' ');
		})`, name, capacity, ready, gone))
	}
	for _, test := range []struct {
		name                  string
		capacity, ready, gone int64
		want                  string
	}{
		{"full", 400, 400, 0, "0+100 0+100 0+100 0+100"},
		{"empty", 400, 0, 400, "0+0 0+0 0+0 0+0"},
		{"in the first block", 400, 370, 30, "30+70 0+100 0+100 0+100"},
		{"two blocks are left", 400, 150, 250, "100+0 100+0 50+50 0+100"},
		{"padded around the end", 400, 350, 250, "0+100 0+100 50+50 0+100"},
		{"after many rounds", 400, 60, 1<<60 - 1<<60%400 + 440, "40+60 0+0 0+0 0+0"},
	} {
		if got := draw(strings.ReplaceAll(test.name, " ", "-"), test.capacity, test.ready, test.gone); got != test.want {
			t.Errorf("%s: arcs %s, want %s", test.name, got, test.want)
		}
	}
	if got := strings.Count(draw("large", 100*1024, 100*1024, 0), "0+100"); got != 64 {
		t.Errorf("a ring of 1,024 blocks has %d full arcs, want 64", got)
	}
}

func showsServers(t *testing.T, browser context.Context) {
	s := newService(t, cached.Config{}, "")
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
}

func countsRequests(t *testing.T, browser context.Context) {
	s := newServiceWith(t, cached.Config{Layout: bitsalloc.Layout{DeltaBits: 28, WorkerBits: 30, SequenceBits: 4}}, "", 3*time.Second)
	p := open(t, browser, s, light)
	p.await(shown)
	const value = "document.querySelector('#chart-%s .value').innerText"
	p.await(fmt.Sprintf(value, "p99") + " === 'no requests' && " + fmt.Sprintf(value, "requests") + " === '0'")
	s.ask(time.Millisecond)
	p.await("Number(" + fmt.Sprintf(value, "requests") + ".replaceAll(',', '')) > 0 && / (m|µ)?s$/.test(" + fmt.Sprintf(value, "p99") + ")")
	s.loseStore()
	p.await("/^[1-9][^ ]*\\/s failed/.test(document.querySelector('#chart-requests .note').innerText) && document.querySelector('#chart-requests .value').classList.contains('bad')")
}

// samplesWork runs the commands that the page shows.
func samplesWork(t *testing.T, browser context.Context) {
	curl, python := testserver.Program(t, "curl", "curl"), testserver.Program(t, "python3", "python3")
	for _, tokens := range []string{"", "team " + secret + "\n"} {
		s := newService(t, cached.Config{}, tokens)
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
		for _, path := range []string{"/openapi.json", "/metrics"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+secret)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != 200 {
				t.Errorf("%s: status %d, want 200: the page links to it", path, answer.StatusCode)
			}
		}
	}
}

func tellsOfJavaScript(t *testing.T, browser context.Context) {
	s := newService(t, cached.Config{}, "")
	p := open(t, browser, s, light)
	p.do(enable(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}), chromedp.Reload())
	p.do(enable(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})) // for the test itself
	const want = "uidring\nID service\nThis page needs JavaScript. The service does not: GET /readyz says whether it is ready, and GET /v1/id draws an ID."
	if got := evaluate[string](p, "document.body.innerText.replace(/\\n+/g, '\\n')"); !strings.Contains(got, want) {
		t.Errorf("without JavaScript the page says\n%s\nwant\n%s", got, want)
	}
}
