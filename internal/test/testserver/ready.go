package testserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// patience bounds a look at a server that may not be ready.
const patience = time.Second

// answers returns a func that sends a message to a server, and returns an error unless the answer
// matches a pattern.
func answers(message, pattern string) func(addr string) error {
	want := regexp.MustCompile("(?s)" + pattern)
	return func(addr string) error {
		conn, err := net.DialTimeout("tcp", addr, patience)
		if err != nil {
			return err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		_, err = io.WriteString(conn, message)
		answer, buffer := "", make([]byte, 4096)
		for n := 0; err == nil && !want.MatchString(answer); answer += string(buffer[:n]) {
			n, err = conn.Read(buffer)
		}
		if !want.MatchString(answer) {
			return fmt.Errorf("answer %q to %q, want %s: %w", answer, message, pattern, err)
		}
		return nil
	}
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
