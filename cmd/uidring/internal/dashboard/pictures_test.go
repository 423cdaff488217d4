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
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/uidring/uidring/cached"
)

// Pictures of the page are taken by
//
//	go test ./internal/dashboard -run TestInChromium/pictures -pictures FOLDER
//
// docs has two of them: page-light.png and page-dark.png.
var pictures = flag.String("pictures", "", "folder that screenshots of the page are written to")

func takePictures(t *testing.T, browser context.Context) {
	s := newService(t, cached.Config{DatacenterID: 21}, "")
	s.load(200, 20*time.Millisecond)
	for _, on := range []device{light, dark, phone} {
		p := open(t, browser, s, on, offline...)
		p.do(chromedp.EmulateViewport(on.width, 1840)) // down to the decoded ID
		p.await(shown)
		p.await("document.querySelector('#chart-rate .range').innerText.endsWith(' in the last 25 s')")
		p.do(chromedp.Click("#draw"))
		p.await("!document.getElementById('decoded').hidden")
		p.picture("page-" + on.name)
	}
	p := open(t, browser, s, light, slices.Concat(offline, []string{"400 (Bad Request)"})...)
	p.await(shown)
	p.decode("nonsense")
	p.await("document.getElementById('decode-error').innerText !== ''")
	p.picture("page-error")
	s.stop()
	p.await("document.getElementById('trouble-text').innerText === 'The service cannot be reached.'")
	p.picture("page-disconnected")
	s.start()

	p = open(t, browser, newService(t, cached.Config{}, "team "+secret+"\n"), dark, "401 (Unauthorized)")
	p.await("!document.getElementById('sign-in').hidden")
	p.enter("not-the-token")
	p.await("document.getElementById('sign-in-error').innerText !== ''")
	p.picture("page-sign-in")
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
