package dashboard

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/test/testgen"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

const secret = "a-token-of-the-test-0123456789"

// TestInChromium uses the page as people do. It also fails when the browser reports an error, an
// exception, or a violation of the policy, which allows no request to another host; see open.
func TestInChromium(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	s := newService(t, "team "+secret+"\n")
	testgen.Cached(t, cached.Config{Assigner: s.leased("<b>ids-2</b> pid 4711")})
	p := open(t, s)
	p.signsIn()
	p.showsTheService(s)
	p.decodesIDs()
	p.givesSamples()
	p.showsAnOutageOfTheStore(s)
	p.outlastsTheService(s)
	p.signsOut(s)
}

const (
	live = "document.getElementById('state').dataset.state === 'live'"
	// shown: the parts that come by themselves are there, and no longer move a button.
	shown  = "document.querySelector('#worker-bits .bit') !== null && !document.getElementById('servers').hidden"
	asking = "!document.getElementById('sign-in').hidden && document.getElementById('content').hidden"
)

// verdictIs is an expression: the page, the title of its tab and its icon have a verdict.
func verdictIs(title, level string) string {
	return fmt.Sprintf(`document.getElementById('verdict-title').innerText === %[1]q && document.title.startsWith(%[1]q) &&
		document.getElementById('icon').getAttribute('href') === 'assets/icon-%[2]s.svg'`, title, level)
}

func (p *tab) signsIn() {
	p.await(asking + " && document.activeElement.id === 'token'")
	p.scan("sign in")
	enter := func(token string) {
		p.do(chromedp.Evaluate[chromedp.Void]("document.getElementById('token').value = ''"), chromedp.SendKeys("#token", token+kb.Enter))
	}
	for text, want := range map[string]string{
		"pässword": "A token has letters, digits and signs of ASCII only, no spaces.", "not-the-token": "The service does not accept this token.",
	} {
		enter(text)
		p.await(fmt.Sprintf("document.getElementById('sign-in-error').innerText === %q && sessionStorage.length === 0", want))
	}
	enter(secret)
	p.await(live + " && " + shown + " && document.getElementById('sign-in').hidden && document.activeElement.id === 'main'")
}

// showsTheService finds the facts about the service, and also on a phone. The servers and the
// segments have tables, whose names are shown as text.
func (p *tab) showsTheService(s *service) {
	p.await(verdictIs("Issuing", "good") + " && " + shown)
	if got := p.text("version"); !strings.HasPrefix(got, "ids-1 · worker 0 · namespace orders · v1.2.3 · up ") {
		p.t.Errorf("the head says %q, want host, worker, namespace, version and uptime", got)
	}
	for _, want := range []string{"Worker ID\n0\nin datacenter 0", "Layout\n28/5/17/13\ndelta counts units of 1 s", "Epoch\n2026-01-01 00:00:00 UTC",
		"Layout ends\n2034-07-04 21:24:16 UTC\nin ", "Store of worker IDs\nfile:///var/lib/uidring"} {
		if facts := p.text("facts"); !strings.Contains(facts, want) {
			p.t.Errorf("facts are\n%s\nwant in them\n%s", facts, want)
		}
	}
	const rows = "[...document.querySelectorAll('#servers-body tr')]"
	p.await(rows + ".length === 2")
	got := evaluate[[]string](p, rows+".map((row) => [row.children[0].innerText, row.children[1].innerText, row.className].join('|'))")
	if want := []string{"0|ids-1 pid 33|own", "1|<b>ids-2</b> pid 4711|"}; fmt.Sprint(got) != fmt.Sprint(want) {
		p.t.Errorf("servers are %q, want %q", got, want)
	}
	const segmentRows = "[...document.querySelectorAll('#segments-body tr')].map((row) => row.innerText.replaceAll('\\t', ' | ')).join(', ')"
	p.await(segmentRows + " === 'invoices | not used yet | 0 | –, orders | not used yet | 0 | –'")
	_, _, err := s.segments.All()[1].ReserveContext(p.t.Context(), 1)
	testkit.Must(p.t, err)
	p.await(segmentRows + " === 'invoices | not used yet | 0 | –, orders | 1 | 1,999 | 1,000'")
	p.do(screen("light", 360, 740))
	p.scan("phone")
	if width := evaluate[int](p, "document.documentElement.scrollWidth"); width > 360 {
		p.t.Errorf("on a phone the page is %d pixels wide, want 360", width)
	}
	if evaluate[bool](p, "[...document.querySelectorAll('#servers, #servers *')].some((part) => part.scrollWidth > part.clientWidth && part.clientWidth > 0)") {
		p.t.Error("on a phone a part of the servers is out of sight")
	}
	outline := "getComputedStyle(document.activeElement).outlineStyle === 'solid' && (document.activeElement.id || document.activeElement.innerText)"
	for range 40 { // the keyboard reaches everything, and shows where it is
		p.do(chromedp.KeyEvent(kb.Tab))
		if evaluate[string](p, "String("+outline+")") == "draw" {
			break
		}
	}
	p.await("document.activeElement.id === 'draw'")
	p.do(screen("light", 1180, 900))
}

func (p *tab) decodesIDs() {
	number, err := testgen.Allocator(p.t, bitsalloc.Default(), time.Time{}).Allocate(12_345_678, 21, 131_000, 8_000)
	testkit.Must(p.t, err)
	id := uidring.ID(number)
	decode := func(text string) {
		p.do(chromedp.SetValue("#id", text), chromedp.Click("#decode-form button[type=submit]"))
	}
	decode(" " + id.String() + " ")
	p.await("!document.getElementById('decoded').hidden")
	if got := evaluate[string](p, `document.querySelector('#decoded-bits .bits').innerText.replace(/\s/g, '')`); got != fmt.Sprintf("%064b", number) {
		p.t.Errorf("bits\n%s, want\n%064b", got, number)
	}
	if got, want := p.text("decoded-forms"), fmt.Sprintf("Decimal\n%s\nBase32\n%s\nBase62\n%s", id, id.Base32(), id.Base62()); got != want {
		p.t.Errorf("forms\n%s, want\n%s", got, want)
	}
	says := regexp.MustCompile(`^Made by worker 131,000 in datacenter 21, with a time of 2026-05-23 21:21:18 UTC \(.*\), as number 8,000 of its unit\.$`)
	if got := p.text("decode-summary"); !says.MatchString(got) {
		p.t.Errorf("%q, want %v", got, says)
	}
	decode("<b>1</b>")
	p.await("document.getElementById('decode-error').innerText.startsWith('malformed ID: decimal') && document.getElementById('decoded').hidden")
	p.do(chromedp.Click("#draw"))
	p.await("!document.getElementById('decoded').hidden")
	p.scan("decoded")
}

// givesSamples runs the samples of the page as they are.
func (p *tab) givesSamples() {
	for name, sample := range map[string]struct {
		program []string
		text    string
		words   int
	}{
		"curl":   {[]string{"sh", "-c"}, strings.ReplaceAll(p.text("get-curl"), "curl ", testserver.Program(p.t, "curl", "curl")+" -sS "), 4},
		"python": {[]string{testserver.Program(p.t, "python3", "python3"), "-c"}, p.text("get-python"), 3},
	} {
		cmd := exec.CommandContext(p.t.Context(), sample.program[0], sample.program[1], sample.text)
		cmd.Env = append(cmd.Environ(), "UIDRING_TOKEN="+secret)
		if out, err := cmd.Output(); err != nil || len(strings.Fields(string(out))) != sample.words {
			p.t.Errorf("%s printed %q, %v, want %d words", name, out, err, sample.words)
		}
	}
}

// showsAnOutageOfTheStore: the store goes, the lease ends, the ring runs dry, and the store comes
// back.
func (p *tab) showsAnOutageOfTheStore(s *service) {
	lost := s.folder + ".lost"
	testkit.Must(p.t, os.Rename(s.folder, lost))
	p.await(verdictIs("Store unreachable", "warn") + " || " + verdictIs("Store unreachable", "bad"))
	s.load()
	p.await(verdictIs("Not issuing", "bad"))
	p.await("['fill', 'lease'].every((id) => document.querySelector(`#figure-${id} .value`).classList.contains('bad'))")
	says := regexp.MustCompile(`^No IDs since \d\d:\d\d:\d\d UTC\. Store file:///var/lib/uidring has not answered since \d\d:\d\d:\d\d UTC: no such file or directory\. `)
	if got := p.text("verdict-detail"); !says.MatchString(got) || p.text("verdict-book") != "Run book" {
		p.t.Errorf("the page says %q, want why there are no IDs, and a link to the run book", got)
	}
	p.scan("not issuing, light")
	p.do(screen("dark", 1180, 900))
	p.scan("not issuing, dark")
	testkit.Must(p.t, os.Rename(lost, s.folder))
	p.await("document.title.startsWith('Issuing')")
	p.await("Number(document.querySelector('#figure-rate .value').innerText.replaceAll(',', '')) > 1000")
}

func (p *tab) outlastsTheService(s *service) {
	s.stop()
	p.await("document.getElementById('state').innerText === 'Disconnected' && " + verdictIs("Unknown", "unknown"))
	p.await("document.getElementById('trouble-text').innerText === 'The service cannot be reached.'") // at the second try
	if got := p.text("trouble-since"); !strings.HasPrefix(got, "What is shown is of ") {
		p.t.Errorf("the page says %q, want how old it is", got)
	}
	s.start()
	p.do(chromedp.Click("#retry"))
	p.await(live + " && document.getElementById('trouble').hidden && document.activeElement.id === 'main'")
	s.stop() // again: the page reconnects by itself
	p.await("!document.getElementById('trouble').hidden")
	s.start()
	p.await(live + " && document.getElementById('trouble').hidden")
}

func (p *tab) signsOut(s *service) {
	p.do(chromedp.Reload())
	p.await(live + " && " + shown)
	if kept := evaluate[string](p, "cookieStore.getAll().then((cookies) => JSON.stringify([{...sessionStorage}, {...localStorage}, cookies, location.href]))"); kept !=
		fmt.Sprintf(`[{"uidring.token":%q},{},[],"%s/"]`, secret, s.url()) {
		p.t.Errorf("kept are %s, want the token in sessionStorage and nothing else", kept)
	}
	p.do(chromedp.Click("#sign-out"))
	p.await("document.readyState === 'complete' && " + asking + " && sessionStorage.length === 0 && document.querySelector('.bit') === null")
}
