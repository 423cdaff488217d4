package testserver

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/test/process"
)

const childEnv = "UIDRING_TESTSERVER_CHILD"

// A test process that is killed runs no cleanup. The child below starts a server and waits to be
// killed.
func TestServerDiesWithTheTestProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a child that its parent has died")
	}
	if ok, _ := process.Role(childEnv, new(string)); ok {
		s := Redis(t)
		fmt.Printf("%s %s\n", s.Addr(), s.dir)
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	Program(t, "redis-server", "redis-server")
	child := process.Play(t, childEnv, "", "-test.run=^"+t.Name()+"$")
	line, err := child.Line()
	addr, dir, ok := strings.Cut(line, " ")
	if err != nil || !ok {
		t.Fatalf("child said %q: %v", line, err)
	}
	defer os.RemoveAll(dir)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := child.Cmd.Process.Kill(); err != nil { // not child.Kill, which kills the server, too
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("the server outlived the test process: %v", err)
	}
	_ = child.Wait() // killed above
}
