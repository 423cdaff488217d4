package testserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// patience bounds a look at a server that may not be ready.
const patience = time.Second

// dialed calls f with a connection to a server.
func dialed(addr string, f func(net.Conn) error) error {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	return f(conn)
}

// serves returns an error unless a URL has the status 200 and a body that contains want.
func serves(url, token, want string) error {
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
		return fmt.Errorf("GET %s: %s: %s", url, answer.Status, body)
	}
	return nil
}

// await waits until each server of a cluster is ready.
func await(t testing.TB, ready func(addr string) error, servers []*Server) {
	t.Helper()
	for _, s := range servers {
		s.await("it serves clients", func() error { return ready(s.addr) })
	}
}
