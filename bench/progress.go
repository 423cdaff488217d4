package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A progress shows how far a phase has come. The nil progress shows nothing.
type progress struct{ out io.Writer }

// newProgress returns nil unless people are watching.
func newProgress(s settings, out io.Writer) *progress {
	f, ok := out.(*os.File)
	if !ok || s.json || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &progress{out}
}

// timed shows a phase that takes a known time.
func (p *progress) timed(name string, d time.Duration, phase func() error) error {
	began := time.Now()
	return p.show(name, d.Milliseconds(), func() int64 { return time.Since(began).Milliseconds() }, phase)
}

// show runs a phase and draws its bar; done says how much of total there is so far. The bar is gone
// when the phase has ended.
func (p *progress) show(name string, total int64, done func() int64, phase func() error) error {
	if p == nil {
		return phase()
	}
	bar := progressbar.NewOptions64(max(1, total),
		progressbar.OptionSetWriter(p.out),
		progressbar.OptionSetDescription(name),
		progressbar.OptionSetWidth(40),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionClearOnFinish(),
	)
	over, drawn := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(drawn)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			// A bar that cannot be drawn is no reason to stop.
			_ = bar.Set64(min(done(), total-1)) // total would end it
			select {
			case <-tick.C:
			case <-over:
				_ = bar.Clear()
				return
			}
		}
	}()
	err := phase()
	close(over)
	<-drawn
	return err
}
