package dashboard_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/uidring/uidring/cached"
	"github.com/uidring/uidring/internal/testkit/testgen"
)

// Pictures of the page are taken by
//
//	go test ./internal/dashboard -run TestInChromium/pictures -pictures FOLDER
//
// docs has two of them: page-light.png and page-dark.png.
var pictures = flag.String("pictures", "", "folder that screenshots of the page are written to")

func takePictures(t *testing.T, browser context.Context) {
	build, _ := debug.ReadBuildInfo()
	prepare := func(window time.Duration) *service {
		s := newServiceWith(t, cached.Config{DatacenterID: 21}, "", window)
		for _, owner := range []string{"ids-2 pid 4711", "ids-3 pid 982"} {
			testgen.Cached(t, cached.Config{DatacenterID: 21, Assigner: s.leased(owner)})
		}
		s.stop()
		s.interval = time.Second
		s.version = build.Main.Version // the pictures in docs tell no lies
		s.start()
		return s
	}
	s := prepare(30 * time.Second)
	show := func(name string, on device, height int64, until ...string) {
		p := open(t, browser, s, on, slices.Concat(offline, []string{"401 (Unauthorized)"})...)
		p.do(chromedp.EmulateViewport(on.width, height))
		for _, each := range until {
			p.await(each)
		}
		p.picture(name)
		p.close()
	}
	show("empty", light, 2600, shown)
	s.load(200, 20*time.Millisecond)
	s.ask(5 * time.Millisecond)
	for _, on := range []device{light, dark, phone} { // the first waits longer than one await may
		p := open(t, browser, s, on, offline...)
		p.do(chromedp.EmulateViewport(on.width, map[device]int64{light: 2058, dark: 2058, phone: 4400}[on]))
		p.await(shown)
		p.await("/ in the last ([345]. s|.* min.*)$/.test(document.querySelector('#chart-rate .range').innerText)")
		p.await("/ in the last (5. s|.* min.*)$/.test(document.querySelector('#chart-rate .range').innerText)")
		p.do(chromedp.Click("#draw"))
		p.await("!document.getElementById('decoded').hidden")
		p.picture("page-" + on.name)
		p.close()
	}
	s = prepare(5 * time.Second)
	s.load(300, 10*time.Millisecond)
	s.ask(5 * time.Millisecond)
	show("servers", light, 1500, shown)
	back := s.loseStore()
	show("store-lost", light, 1500, verdictIs("Store unreachable"))
	show("store-lost-dark", dark, 1500, verdictIs("Store unreachable"))
	show("not-issuing", light, 1500, verdictIs("Not issuing"), "document.querySelector('#servers-note').innerText.includes('does not answer')")
	show("not-issuing-dark", dark, 1500, verdictIs("Not issuing"))
	show("not-issuing-phone", phone, 1500, verdictIs("Not issuing"))
	back()
	s.stop()
	s.start()
	p := open(t, browser, s, light, offline...)
	p.await(shown)
	s.stop()
	p.await("document.getElementById('trouble-text').innerText === 'The service cannot be reached.'")
	p.picture("disconnected")

	s = newService(t, cached.Config{}, "team "+secret+"\n")
	p = open(t, browser, s, dark, "401 (Unauthorized)")
	p.await("!document.getElementById('sign-in').hidden")
	p.enter("not-the-token")
	p.await("document.getElementById('sign-in-error').innerText !== ''")
	p.picture("sign-in")
	p.enter(secret)
	p.do(chromedp.EmulateViewport(dark.width, 2600))
	p.await(shown)
	p.picture("signed-in")
}

func (p *tab) picture(name string) {
	p.t.Helper()
	p.do(chromedp.Evaluate[chromedp.Void]("scrollTo(0, 0)"))
	shot, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	full, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		p.t.Fatal(err)
	}
	var file bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&file, reduced(full)); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), file.Bytes(), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// reduced has the 256 most frequent colours of a picture, which the eye cannot tell from all. It is
// half as large as a file.
func reduced(full image.Image) image.Image {
	count := make(map[color.RGBA]int)
	bounds := full.Bounds()
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			count[color.RGBAModel.Convert(full.At(x, y)).(color.RGBA)]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var palette color.Palette
	for _, c := range frequent[:min(256, len(frequent))] {
		palette = append(palette, c)
	}
	small := image.NewPaletted(bounds, palette)
	draw.Draw(small, bounds, full, bounds.Min, draw.Src)
	return small
}
