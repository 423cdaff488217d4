package daemon

import (
	"bufio"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/testkit"
)

// The test looks at the deadlines ahead of their time.
func TestDeadlinesOfConnections(t *testing.T) {
	service := &Service{logger: slog.New(slog.DiscardHandler)}
	n, err := service.newSite(t.Context(), "listen", "127.0.0.1:0", 10)
	must(t, err)
	cut := make(chan struct{})
	n.open(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/endless" {
			for err == nil {
				_, err = w.Write(make([]byte, 64<<10))
			}
			close(cut)
		}
	}))
	go func() { _ = n.serve() }()
	defer n.server.Close()
	address := n.Addr().String()

	idle := dial(t, address)
	answers := bufio.NewReader(idle)
	for range 3 {
		_, err := io.WriteString(idle, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
		must(t, err)
		answer, err := http.ReadResponse(answers, nil)
		must(t, err)
		if answer.StatusCode != http.StatusOK {
			t.Errorf("status %d, want 200", answer.StatusCode)
		}
		n.sweepAt(time.Now().Add(idleTimeout - time.Second)) // also ends the write, which is over
	}

	unread := dial(t, address)
	_, err = io.WriteString(unread, "GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
	must(t, err)
	testkit.Until(t, "the end of an answer that is not read", func() bool {
		n.sweepAt(time.Now().Add(writeTimeout + time.Second))
		select {
		case <-cut:
			return true
		default:
			return false
		}
	})

	silent := dial(t, address)
	_, err = io.WriteString(silent, "GET / HTTP/1.1\r\nHost:")
	must(t, err)
	testkit.Until(t, "the end of all connections", func() bool {
		n.sweepAt(time.Now().Add(idleTimeout + time.Second))
		return len(n.places) == 1 // of the connection that Accept waits for
	})
}
