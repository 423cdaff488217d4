package daemon

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/testkit/testserver"
)

// More clients than the server has places each keep a connection open after a request without a
// token. Probes, scrapes and other clients are answered all the same.
func TestIdleConnectionsDoNotStarveTheService(t *testing.T) {
	const most, idle = 2048, 3000
	c := serve(t, "--data="+testserver.DiskFolder(t), fmt.Sprint("--max-connections=", most))
	var all []net.Conn
	keep := func() (status int, err error) {
		conn := dial(t, c.address)
		all = append(all, conn)
		fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode, err
	}
	for i := range idle {
		if status, err := keep(); status != http.StatusOK || err != nil {
			t.Fatalf("connection %d: status %d, %v", i, status, err)
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/v1/id", "/metrics"} {
		client := clients(t, nil)["HTTP/1.1"] // with a new connection
		status, body, err := get(client, c.url()+path)
		if status != http.StatusOK {
			t.Errorf("%s: status %d, %v", path, status, err)
		}
		if path != "/metrics" {
			continue
		}
		for _, want := range []string{"uidring_connections_limit 2048\n", `uidring_connections_closed_total{reason="limit"} 1`} { // more than 999
			if !strings.Contains(body, want) {
				t.Errorf("no %s in the metrics", want)
			}
		}
	}
	if n := strings.Count(c.log.String(), "connections are at their limit"); n != 1 {
		t.Errorf("%d records of the limit, want 1\n%s", n, c.log)
	}
	c.terminate()
}
