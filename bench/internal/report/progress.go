package report

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A Progress draws a bar for each phase. The nil Progress draws nothing.
type Progress struct{ out io.Writer }

// NewProgress returns nil if quiet, or if out is not a terminal.
func NewProgress(out io.Writer, quiet bool) *Progress {
	f, ok := out.(*os.File)
	if !ok || quiet || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &Progress{out}
}

// Timed shows a phase that takes a known time.
func (p *Progress) Timed(name string, d time.Duration, phase func() error) error {
	began := time.Now()
	return p.Show(name, d.Milliseconds(), func() int64 { return time.Since(began).Milliseconds() }, phase)
}

// Show runs a phase and draws its bar; done returns the part of total that is done. It clears the
// bar when the phase has ended.
func (p *Progress) Show(name string, total int64, done func() int64, phase func() error) error {
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
			// An error in drawing the bar does not stop the phase.
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
