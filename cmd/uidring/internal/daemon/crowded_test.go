package daemon

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/testkit/testserver"
)

// More clients than the server has places each keep a connection open after a request without a
// token. Probes, scrapes and other clients are answered all the same.
func TestIdleConnectionsDoNotStarveTheService(t *testing.T) {
	for shell, tt := range map[string]struct{ setting, places, idle int }{
		"true":          {2048, 2048, 3000},
		"ulimit -n 512": {4096, 448, 700},
	} {
		t.Run(shell, func(t *testing.T) {
			c := launch(t, exec.Command("sh", "-c", shell+` && exec "$@"`, "sh", os.Getenv(programEnv), "serve", "--listen=127.0.0.1:0",
				"--log-format=json", "--data="+testserver.DiskFolder(t), fmt.Sprint("--max-connections=", tt.setting)))
			c.ready()
			for i := range tt.idle {
				conn := dial(t, c.address)
				fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil || answer.StatusCode != http.StatusOK {
					t.Fatalf("connection %d: %v, %v", i, answer, err)
				}
				if _, err := io.Copy(io.Discard, answer.Body); err != nil {
					t.Fatal(err)
				}
			}
			for _, path := range []string{"/healthz", "/readyz", "/v1/id", "/metrics"} {
				status, _, err := get(clients(t, nil)["HTTP/1.1"], c.url()+path) // a new connection
				if status != http.StatusOK {
					t.Errorf("%s: status %d, %v", path, status, err)
				}
			}
			closed := c.metric(`uidring_connections_closed_total{reason="limit"}`)
			if limit := c.metric("uidring_connections_limit"); int(limit) != tt.places || int(closed) < tt.idle-tt.places {
				t.Errorf("%.0f of %.0f connections were closed, want %d and more of %d", closed, limit, tt.idle-tt.places, tt.places)
			}
			if n := strings.Count(c.log.String(), "connections are at their limit"); n != 1 {
				t.Errorf("%d records of the limit, want 1\n%s", n, c.log)
			}
			lowered := c.log.find("max-connections is lowered: the process may not open enough files")
			if (lowered != nil) != (tt.places < tt.setting) {
				t.Errorf("logged %v", lowered)
			}
			c.terminate()
			if record := c.log.find("requests were cut off"); record != nil {
				t.Errorf("logged %v", record)
			}
		})
	}
}
