package dashboard

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// chromium starts a browser with a profile of its own; it ends with the test.
func chromium(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(testserver.Program(t, "chromium", "chromium")),
		chromedp.UserDataDir(filepath.Join(t.TempDir(), "profile")),
		chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.WSURLReadTimeout(60*time.Second),
		chromedp.NoSandbox, // root and many containers cannot have one; the page is our own
	)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	testkit.Must(t, chromedp.Do(ctx))
	return ctx
}

// A tab is a page in a browser, with the errors that the browser has logged.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex
	complaints []string // console errors, exceptions, violations
}

// expected are parts of the errors that Chromium logs when a token or an ID is refused, or when a
// service is down. A page cannot prevent them.
var expected = []string{"401 (Unauthorized)", "400 (Bad Request)",
	"net::ERR_CONNECTION_REFUSED", "net::ERR_CONNECTION_RESET", "net::ERR_EMPTY_RESPONSE", "net::ERR_INCOMPLETE_CHUNKED_ENCODING"}

// open opens a tab with the page of a service. When the test ends, it closes the tab, and reports
// all logged errors but the expected ones.
func open(t *testing.T, s *service) *tab {
	t.Helper()
	p := &tab{t: t, ctx: chromium(t)}
	testkit.Must(t, chromedp.Listen(p.ctx, p.listen))
	t.Cleanup(p.leave)
	p.do(
		enable(log.Enable, cdp.Empty{}), enable(runtime.Enable, cdp.Empty{}),
		screen("light", 1180, 900), chromedp.Navigate(s.url()+"/"),
	)
	return p
}

func enable[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

// screen shows the page on a screen with a light or dark scheme of colours.
func screen(scheme string, width, height int64) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(
		chromedp.EmulateViewport(width, height),
		enable(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		}),
	)
}

func (p *tab) listen(ev any) {
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		p.complain("exception: %v", &chromedp.ExceptionError{ExceptionDetails: ev.ExceptionDetails})
	case *runtime.EventConsoleAPICalled:
		p.complain("console.%s: %s", ev.Type, fmt.Sprint(ev.Args))
	case *log.EventEntryAdded:
		p.complain("log %s: %s %s", ev.Entry.Level, ev.Entry.Text, ev.Entry.URL)
	}
}

func (p *tab) complain(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	if !slices.ContainsFunc(expected, func(part string) bool { return strings.Contains(text, part) }) {
		p.complaints = append(p.complaints, text)
	}
}

// leave ends the requests of the page while its service still answers, so that they cannot fail,
// and reports the complaints.
func (p *tab) leave() {
	p.do(chromedp.Navigate("about:blank"))
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, text := range p.complaints {
		p.t.Errorf("the browser complains of %s", text)
	}
}

// do runs actions, each of which has to succeed in time.
func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, testkit.Patience)
	defer cancel()
	testkit.Must(p.t, chromedp.Do(ctx, actions...))
}

// evaluate returns the value of an expression, or the resolved value of a promise.
func evaluate[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := ask[T](p, expression)
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

func ask[T any](p *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, testkit.Patience)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// await asks until an expression is true. A page that is navigating, as it does at signing out,
// answers with an error, and is asked again.
func (p *tab) await(expression string) {
	p.t.Helper()
	testkit.Until(p.t, expression, func() bool {
		now, err := ask[bool](p, expression)
		return now && err == nil
	})
}

// text returns the inner text of an element.
func (p *tab) text(id string) string {
	p.t.Helper()
	return evaluate[string](p, fmt.Sprintf("document.getElementById(%q).innerText", id))
}

// scan reports the violations of accessibility that axe finds.
func (p *tab) scan(when string) {
	p.t.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](testkit.ReadFile(p.t, "testdata/npm/axe-core/axe.min.js") + "\n;void 0"))
	for _, violation := range evaluate[[]string](p, `axe.run(document, {resultTypes: ['violations']}).then(({violations}) =>
		violations.flatMap(({id, help, nodes}) => nodes.map((node) => id + ': ' + help + ': ' + node.html + ' ' + node.failureSummary)))`) {
		p.t.Errorf("%s: %s", when, violation)
	}
}
