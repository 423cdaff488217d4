package chaos

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
)

// show tells how far the run has come until ctx ends: on a terminal in one line that changes,
// elsewhere in a line every few seconds.
func (r *chaosRun) show(ctx context.Context, out *os.File) {
	const wipe = "\r\x1b[K"
	interval, format := 5*time.Second, "%s\n"
	if width, _, err := term.GetSize(int(out.Fd())); err == nil { // a terminal
		interval, format = time.Second, fmt.Sprintf("%s%%.%ds", wipe, max(width-1, 1))
		defer fmt.Fprint(out, wipe)
	}
	for pause(ctx, interval) {
		t, _ := r.counter.totals()
		fmt.Fprintf(out, format, r.figures.progress(t, time.Since(r.began), r.options.duration))
	}
}
