package dashboard_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// TestInChromium looks at the page as people do. Each of its tests has a tab of its own, except for
// the tests of a service at rest. A test fails, too, when the browser reports an error, an
// exception, a violation of the policy, or a request to another host; see open.
func TestInChromium(t *testing.T) {
	browser := chromium(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, context.Context)
	}{
		{"a service at rest", atRest},
		{"charts move under load", chartsMove},
		{"the verdict follows the service", judges},
		{"the servers and the segments have tables", showsTables},
		{"the samples draw IDs", samplesWork},
		{"a token opens the page", signsIn},
		{"a lost connection is shown and heals", reconnects},
		{"no accessibility violations", accessible},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, browser) })
	}
}

// atRest runs the tests that leave service and page as they are, one after the other in one tab.
func atRest(t *testing.T, browser context.Context) {
	s := newService(t, "", leaseWindow)
	p := open(t, browser, s, light, "400 (Bad Request)", "404 (Not Found)")
	p.await(shown)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *service, *tab)
	}{
		{"everything is within reach of the keyboard", keyboard}, // first: the focus is where it begins
		{"what is shown is what the generator says", factsAreShown},
		{"an ID is decoded in all its forms", decodes},
		{"nonsense is refused with the reason", refusesNonsense},
	} {
		t.Run(test.name, func(t *testing.T) {
			p.t = t
			test.run(t, s, p)
		})
	}
	p.t = t
}

func chartsMove(t *testing.T, browser context.Context) {
	s := newService(t, "", leaseWindow)
	p := open(t, browser, s, light)
	p.await(live)
	p.await("document.querySelector('#chart-rate .value').innerText === '0'")
	// pixels returns the picture of each chart, to compare it with a later one.
	const pixels = "[...document.querySelectorAll('.plot canvas')].map((canvas) => canvas.toDataURL())"
	p.do(chromedp.Evaluate[chromedp.Void]("window.before = " + pixels))
	s.load()
	p.await(pixels + ".length === 6 && " + pixels + ".every((picture, i) => picture !== before[i])")
	p.await("Number(document.querySelector('#chart-rate .value').innerText.replaceAll(',', '')) > 1000")
	p.await("document.querySelector('#chart-rate .note').innerText !== '0 issued since the start'")
	p.unfold("readings")
	p.await("document.querySelectorAll('#readings-body tr').length > 2")
	// The pointer asks for a moment: every chart tells its value then.
	p.do(chromedp.ScrollIntoView("#chart-rate"))
	at := evaluate[[]float64](p, `(({right, top}) => [right - 14, top + 40])(document.querySelector('#chart-rate .u-over').getBoundingClientRect())`)
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
	p.await(`[...document.querySelectorAll('.range')].every((range) => /^\d\d:\d\d:\d\d UTC: \S/.test(range.innerText))`)
}

func factsAreShown(t *testing.T, s *service, p *tab) {
	facts := p.text("facts")
	guarantee := map[assigner.Guarantee]string{
		assigner.GuaranteeFenced: "Guarantee\nfenced\nsafe on a durable store",
		assigner.GuaranteeLossy:  "Guarantee\nlossy\nfenced, on a store that may forget commits",
	}[s.generator.Stats().Guarantee]
	for _, want := range []string{
		"Worker ID\n0\nin datacenter 0", guarantee, "Layout\n28/5/17/13\ndelta counts units of 1 s",
		"Epoch\n2026-01-01 00:00:00 UTC", "Layout ends\n2034-07-04 21:24:16 UTC\nin ", "Store of worker IDs\nfile:///var/lib/uidring",
	} {
		if !strings.Contains(facts, want) {
			t.Errorf("facts are\n%s\nwant in them\n%s", facts, want)
		}
	}
	if got := p.text("version"); !strings.HasPrefix(got, "ids-1 · worker 0 · namespace orders · v1.2.3 · up ") {
		t.Errorf("the head says %q, want host, worker, namespace, version and uptime", got)
	}
	want := evaluate[string](p, "document.querySelector('#worker-bits .bits').innerText.replace(/\\s/g, '')")
	if delta := fmt.Sprintf("0%028b", s.generator.Stats().LastDelta); want != delta+strings.Repeat("0", 22)+strings.Repeat("·", 13) {
		t.Errorf("bits %s, want delta %s, datacenter 0, worker 0, any sequence", want, delta)
	}
}

// decoded is the page's box for an ID.
type decoded struct {
	Summary, Bits, Forms, Error string
	Invalid                     bool
}

func (p *tab) decoded() decoded {
	p.t.Helper()
	return evaluate[decoded](p, `({
		Summary: document.getElementById('decode-summary').innerText,
		Bits: document.querySelector('#decoded-bits .bits')?.innerText.replace(/\s/g, '') ?? '',
		Forms: document.getElementById('decoded').hidden ? '' : document.getElementById('decoded-forms').innerText,
		Error: document.getElementById('decode-error').innerText,
		Invalid: document.getElementById('id').ariaInvalid === 'true',
	})`)
}

func (p *tab) decode(text string) {
	p.t.Helper()
	p.do(chromedp.SetValue("#id", text), chromedp.Click("#decode-form button[type=submit]"))
}

func decodes(t *testing.T, s *service, p *tab) {
	number, err := s.alloc.Allocate(12_345_678, 21, 131_000, 8_000)
	if err != nil {
		t.Fatal(err)
	}
	id := uidring.ID(number)
	for _, text := range []string{id.String(), id.Base32(), strings.ToLower(id.Base32()), id.Base62(), "  " + id.String() + " "} {
		p.do(chromedp.Evaluate[chromedp.Void]("document.getElementById('decoded').hidden = true"))
		p.decode(text)
		p.await("!document.getElementById('decoded').hidden")
		got := p.decoded()
		if want := fmt.Sprintf("%064b", number); got.Bits != want {
			t.Errorf("%q: bits\n%s, want\n%s", text, got.Bits, want)
		}
		if want := fmt.Sprintf("Decimal\n%s\nBase32\n%s\nBase62\n%s", id, id.Base32(), id.Base62()); got.Forms != want {
			t.Errorf("%q: forms\n%s, want\n%s", text, got.Forms, want)
		}
		want := "Made by worker 131,000 in datacenter 21, with a time of 2026-05-23 21:21:18 UTC ("
		if !strings.HasPrefix(got.Summary, want) || !strings.HasSuffix(got.Summary, "), as number 8,000 of its unit.") {
			t.Errorf("%q: %q, want %q …", text, got.Summary, want)
		}
	}
	colours := evaluate[map[string]int](p, `Object.fromEntries(['unused', 'delta', 'datacenter', 'worker', 'sequence'].map(
		(name) => [name, document.querySelectorAll('#decoded-bits .bit.' + name).length]))`)
	if fmt.Sprint(colours) != "map[datacenter:5 delta:28 sequence:13 unused:1 worker:17]" {
		t.Errorf("bits by colour %v, want the widths of the layout", colours)
	}
}

func refusesNonsense(t *testing.T, _ *service, p *tab) {
	const noForm = "malformed ID: no form has %d characters, allowed: decimal digits, 13 characters of base32, 11 of base62."
	for text, want := range map[string]string{
		"0": "0 is not an ID of this server's layout.", "<b>1</b>": fmt.Sprintf(noForm, 8), "1/2?x=#": fmt.Sprintf(noForm, 7),
	} {
		p.decode(text)
		p.await("document.getElementById('decode-error').innerText !== '' && document.getElementById('id').ariaInvalid === 'true'")
		if got := p.decoded(); got.Error != want || got.Forms != "" || got.Summary != "" || !got.Invalid {
			t.Errorf("%q: the page shows %+v, want the error %q and nothing else", text, got, want)
		}
		p.decode("962597072630976624")
		p.await("!document.getElementById('decoded').hidden")
		if got := p.decoded(); got.Error != "" || got.Invalid {
			t.Errorf("after a good ID: %+v, want no error any more", got)
		}
	}
}

const secret = "a-token-of-the-test-0123456789"

// enter types a token into the box.
func (p *tab) enter(token string) {
	p.t.Helper()
	p.do(chromedp.Evaluate[chromedp.Void]("document.getElementById('token').value = ''"), chromedp.SendKeys("#token", token+kb.Enter))
}

func signsIn(t *testing.T, browser context.Context) {
	s := newService(t, "team "+secret+"\n", leaseWindow)
	p := open(t, browser, s, light, "401 (Unauthorized)")
	const asking = "!document.getElementById('sign-in').hidden && document.getElementById('content').hidden"
	p.await(asking + " && document.activeElement.id === 'token'")
	if got := p.text("version"); got != "ID service" {
		t.Errorf("without a token the page says %q, want no version", got)
	}
	if got := p.text("sign-in-error"); got != "" {
		t.Errorf("at first the page says %q, want no error", got)
	}
	for text, want := range map[string]string{
		"not the token": "A token has letters, digits and signs of ASCII only, no spaces.",
		"pässword":      "A token has letters, digits and signs of ASCII only, no spaces.",
		"not-the-token": "The service does not accept this token.",
	} {
		p.enter(text)
		p.await(fmt.Sprintf("document.getElementById('sign-in-error').innerText === %q && !document.getElementById('sign-in').hidden", want))
	}
	if got := evaluate[int](p, "sessionStorage.length"); got != 0 {
		t.Errorf("%d entries are kept after a token that was refused, want none", got)
	}
	p.enter(secret)
	p.await(live + " && " + shown)
	p.await("document.getElementById('sign-in').hidden && document.activeElement.id === 'main'")
	p.do(chromedp.Click("#draw"))
	p.await("!document.getElementById('decoded').hidden")
	p.do(chromedp.Reload())
	p.await(live + " && " + shown)
	if kept := evaluate[string](p, "cookieStore.getAll().then((cookies) => JSON.stringify([{...sessionStorage}, {...localStorage}, cookies, location.href]))"); kept !=
		fmt.Sprintf(`[{"uidring.token":%q},{},[],"%s/"]`, secret, s.url()) {
		t.Errorf("kept are %s, want the token in sessionStorage and nothing else", kept)
	}
	p.do(chromedp.Click("#sign-out"))
	p.await("document.readyState === 'complete' && " + asking + " && sessionStorage.length === 0 && document.getElementById('sign-out').hidden")
	if bits := evaluate[int](p, "document.querySelectorAll('.bit').length"); bits != 0 || p.text("version") != "ID service" {
		t.Errorf("after signing out there are %d bits and %q, want nothing of what was shown", bits, p.text("version"))
	}
}

// offline are the errors that Chromium logs when a service is down. A page cannot prevent them.
var offline = []string{"net::ERR_CONNECTION_REFUSED", "net::ERR_CONNECTION_RESET", "net::ERR_INCOMPLETE_CHUNKED_ENCODING"}

func reconnects(t *testing.T, browser context.Context) {
	s := newService(t, "", leaseWindow)
	p := open(t, browser, s, light, offline...)
	p.await(live + " && " + shown)
	s.stop()
	p.await("document.getElementById('state').innerText === 'Disconnected' && !document.getElementById('trouble').hidden")
	p.await("document.getElementById('trouble-text').innerText === 'The service cannot be reached.'") // at the second try
	p.do(chromedp.Evaluate[chromedp.Void]("scrollTo(0, document.body.scrollHeight)"))
	p.await("(({top, bottom}) => top >= 0 && bottom < innerHeight)(document.getElementById('trouble').getBoundingClientRect())") // at the foot, too
	if got := p.text("trouble-since"); !strings.HasPrefix(got, "What is shown is of ") {
		t.Errorf("the page says %q, want how old it is", got)
	}
	p.decode("962597072630976624")
	p.await("document.getElementById('decode-error').innerText === 'The service cannot be reached.' && document.getElementById('id').ariaInvalid === 'false'")
	s.start()
	p.do(chromedp.Click("#retry"))
	p.await(live + " && document.getElementById('trouble').hidden && document.activeElement.id === 'main'")
	p.do(chromedp.Evaluate[chromedp.Void]("window.before = document.querySelector('#chart-rate canvas').toDataURL()"))
	p.await("document.querySelector('#chart-rate canvas').toDataURL() !== before")

	p.decode("962597072630976624")
	p.await("!document.getElementById('decoded').hidden")
	s.stop() // again: the page reconnects by itself, and keeps the decoded ID
	p.await("document.getElementById('trouble-text').innerText === 'The service has ended the connection.'")
	s.start()
	p.await(live + " && document.getElementById('trouble').hidden && !document.getElementById('decoded').hidden")

	s.stop() // not so with another epoch, which makes another ID of it
	var err error
	if s.alloc, err = bitsalloc.New(bitsalloc.Default(), time.Date(2025, time.June, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	s.start()
	p.await(live + " && document.getElementById('decoded').hidden && document.getElementById('decode-summary').innerText === ''")
}

func keyboard(t *testing.T, _ *service, p *tab) {
	var got []string
	p.await("document.querySelector('#servers-body tr') !== null")
	want := []string{"Skip to content", "pause", "Last readings as a table", "servers-table", "id", "Decode", "draw", "get-curl-box", "get-python-box",
		"/openapi.json", "/metrics", "Counters since the start", "uPlot"}
	for range want {
		p.do(chromedp.KeyEvent(kb.Tab))
		got = append(got, evaluate[string](p, "document.activeElement.id || document.activeElement.innerText"))
		if outline := evaluate[string](p, "getComputedStyle(document.activeElement).outlineStyle"); outline != "solid" {
			t.Errorf("%s has outline %s in focus, want solid", got[len(got)-1], outline)
		}
		if got[len(got)-1] == "id" {
			p.do(chromedp.KeyEvent("962597072630976624" + kb.Enter))
			p.await("!document.getElementById('decoded').hidden")
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("Tab goes to %q, want %q", got, want)
	}
	p.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('.skip').focus()"), chromedp.KeyEvent(kb.Enter))
	p.await("document.activeElement.id === 'main'")
}

// scan reports the violations of accessibility that axe finds, by all its rules or by some.
func (p *tab) scan(when string, rules ...string) {
	p.t.Helper()
	if evaluate[bool](p, "!('axe' in window)") {
		axe, err := os.ReadFile("testdata/npm/axe-core/axe.min.js")
		if err != nil {
			p.t.Fatal(err)
		}
		p.do(chromedp.Evaluate[chromedp.Void](string(axe) + "\n;void 0"))
	}
	options := ""
	if len(rules) > 0 {
		options = ", runOnly: ['" + strings.Join(rules, "', '") + "']"
	}
	for _, violation := range evaluate[[]string](p, "axe.run(document, {resultTypes: ['violations']"+options+`}).then(({violations}) =>
		violations.flatMap(({id, help, nodes}) => nodes.map((node) => id + ': ' + help + ': ' + node.html + ' ' + node.failureSummary)))`) {
		p.t.Errorf("%s: %s", when, violation)
	}
}

// colours are the rules of axe that depend on the colours of the page.
var colours = []string{"color-contrast", "link-in-text-block"}

func accessible(t *testing.T, browser context.Context) {
	public := newService(t, "", leaseWindow)
	public.withSegments("orders", "invoices")
	p := open(t, browser, public, phone, slices.Concat(offline, []string{"400 (Bad Request)"})...)
	p.await(shown)
	p.do(chromedp.Click("#draw"))
	p.unfold("readings")
	p.unfold("internals")
	p.await("!document.getElementById('decoded').hidden && document.querySelector('#readings-body tr') !== null")
	p.scan("phone, decoded")
	if width := evaluate[int](p, "document.documentElement.scrollWidth"); width > 360 {
		t.Errorf("on a phone the page is %d pixels wide, want 360", width)
	}
	p.do(light.action())
	p.scan("light, decoded")
	p.do(dark.action())
	p.scan("dark, decoded", colours...)
	p.decode("nonsense")
	p.await("document.getElementById('decode-error').innerText !== ''")
	public.stop()
	p.await("!document.getElementById('trouble').hidden")
	p.scan("dark, refused and disconnected")
	p.do(light.action())
	p.scan("light, refused and disconnected", colours...)
	p.close()

	p = open(t, browser, newService(t, "team "+secret+"\n", leaseWindow), light, "401 (Unauthorized)")
	p.await("!document.getElementById('sign-in').hidden")
	p.enter("not-the-token")
	p.await("document.getElementById('sign-in-error').innerText !== ''")
	p.scan("light, sign in")
	p.do(dark.action())
	p.scan("dark, sign in", colours...)
}
