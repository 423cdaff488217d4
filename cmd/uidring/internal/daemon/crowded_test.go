package daemon

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/uidring/uidring/internal/test/testserver"
)

// Clients that do not read their answers hold all places of the API. The page, metrics and probes
// have places of their own; the next client is answered once a place is free.
func TestFullListenerDoesNotStarveTheOther(t *testing.T) {
	cfg, log := testConfig(t)
	cfg.MaxConnections = 4
	r := ready(t, cfg, log)
	slow := make(map[*http.Client]io.Reader)
	for range cfg.MaxConnections {
		client := clients(t, nil)["HTTP/2.0"]
		slow[client] = draw(t, client, r, 100_000)
	}
	waiting := make(chan error, 1)
	go func() {
		_, _, err := get(clients(t, nil)["HTTP/1.1"], r.url()+"/v1/id")
		waiting <- err
	}()
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/", "/v1/parse/1"} {
		if status, body, err := get(clients(t, nil)["HTTP/1.1"], r.adminURL()+path); status != http.StatusOK {
			t.Errorf("%s: %d %s %v", path, status, body, err)
		}
	}
	if len(waiting) > 0 {
		t.Errorf("a fifth client of four: %v", <-waiting)
	}
	for client, answer := range slow {
		if _, err := io.Copy(io.Discard, answer); err != nil {
			t.Error(err)
		}
		client.CloseIdleConnections()
	}
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}

// A burst of silent connections, more than either listener has places, ends with the time limit for
// a header. Few open files lower max-connections.
func TestBurstOfSilentConnectionsIsOutlasted(t *testing.T) {
	for shell, silent := range map[string]struct{ api, admin int }{"true": {4200, 300}, "ulimit -n 512": {500, 100}} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			c := launch(t, exec.Command("sh", "-c", shell+` && exec "$@"`, "sh", os.Getenv(programEnv), "serve", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0",
				"--log-format=json", "--data="+testserver.DiskFolder(t)))
			c.ready()
			for address, n := range map[string]int{c.address: silent.api, c.admin: silent.admin} {
				for range n {
					conn, err := net.DialTimeout("tcp", address, patience)
					must(t, err)
					t.Cleanup(func() { _ = conn.Close() })
				}
			}
			for _, path := range []string{"/healthz", "/readyz", "/metrics", "/", "/v1/id"} {
				if status, _, err := get(clients(t, nil)["HTTP/1.1"], "http://"+c.at(path)+path); status != http.StatusOK {
					t.Errorf("%s: status %d, %v", path, status, err)
				}
			}
			if lowered := c.log.find("max-connections is lowered: the process may not open enough files"); (lowered != nil) != (shell != "true") {
				t.Errorf("logged %v", lowered)
			}
			c.terminate()
			if record := c.log.find("requests were cut off"); record != nil {
				t.Errorf("logged %v", record)
			}
		})
	}
}
