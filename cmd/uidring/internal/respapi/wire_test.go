package respapi

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/cmd/uidring/internal/conns"
	"github.com/uidring/uidring/cmd/uidring/internal/httpapi"
)

func TestRepliesToBytes(t *testing.T) {
	address := listen(t, newServer(t, conns.Config{}, httpapi.Config{MaxBatch: 1000}), nil)
	const ended = "-ERR Protocol error: "
	for sent, want := range map[string]string{ // want is a regular expression for all bytes
		"*1\r\n$4\r\nPING\r\n":                              `\+PONG\r\n`,
		"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nping\r\n":          `\+PONG\r\n\+PONG\r\n`,
		"*2\r\n$4\r\nPING\r\n$3\r\na\nb\r\n":                `\$3\r\na\nb\r\n`,
		"*2\r\n$4\r\nECHO\r\n$0\r\n\r\n":                    `\$0\r\n\r\n`,
		"PING\r\nPING\nUID.NEXT\r\n":                        `\+PONG\r\n\+PONG\r\n\$1\d\r\n\d+\r\n`,
		"\r\n\r\nPING\r\n*0\r\nPING\r\n":                    `\+PONG\r\n\+PONG\r\n`,
		"*2\r\n$8\r\nUID.NEXT\r\n$1\r\n2\r\n":               `\*2\r\n\$\d+\r\n\d+\r\n\$\d+\r\n\d+\r\n`,
		"*2\r\n$8\r\nuid.next\r\n$1\r\n1\r\n":               `\*1\r\n\$\d+\r\n\d+\r\n`,
		"UID.NEXT 0\r\nUID.NEXT 1001\r\nUID.NEXT 07\r\n":    `(-ERR n is '\d+', allowed: 1 to 1000\r\n){3}`,
		"UID.NEXT -1\r\nUID.NEXT x\r\nUID.NEXT 1 2\r\n":     `(-ERR n is '..?', allowed: 1 to 1000\r\n|-ERR wrong number of arguments for 'uid.next'\r\n){3}`,
		"UID.NEXT 99999999999999999999\r\n":                 `-ERR n is '9{20}', allowed: 1 to 1000\r\n`,
		"INCR orders\r\nINCR orders\r\n":                    `:1\r\n:2\r\n`,
		"INCR Orders\r\n":                                   `-NOTFOUND This server has no such segment\.\r\n`,
		"*2\r\n$4\r\nINCR\r\n$0\r\n\r\n":                    `-ERR the key is empty, .*\r\n`,
		"AUTH " + token + "\r\n":                            `-ERR AUTH <password> called without any password configured.*\r\n`,
		"HELLO\r\n":                                         `\*14\r\n\$6\r\nserver\r\n\$7\r\nuidring\r\n(?s).*\r\n\$5\r\nproto\r\n:2\r\n.*\*0\r\n`,
		"HELLO 2\r\n":                                       `\*14\r\n(?s).*proto\r\n:2\r\n.*`,
		"HELLO 3 SETNAME x\r\nPING\r\n":                     `%7\r\n(?s).*proto\r\n:3\r\n.*\+PONG\r\n`,
		"HELLO 4\r\nHELLO x\r\n":                            `(-NOPROTO unsupported protocol version\r\n){2}`,
		"HELLO 3 AUTH x\r\nHELLO 3 SETNAME\r\n":             `-ERR Syntax error in HELLO option 'AUTH'\r\n-ERR Syntax error in HELLO option 'SETNAME'\r\n`,
		"CLIENT SETINFO LIB-NAME x\r\nCLIENT SETNAME x\r\n": `(\+OK\r\n){2}`,
		"CLIENT KILL x\r\nCOMMAND GETKEYS\r\n":              `-ERR unknown subcommand 'KILL'\r\n-ERR unknown subcommand 'GETKEYS'\r\n`,
		"COMMAND COUNT\r\nCOMMAND DOCS\r\n":                 `:11\r\n\*0\r\n`,
		"HELLO 3\r\nCOMMAND DOCS\r\n":                       `(?s).*%0\r\n`,
		"COMMAND\r\n":                                       `\*11\r\n\*6\r\n\$4\r\nauth\r\n:-2\r\n(?s).*\$8\r\nuid\.next\r\n:-1\r\n\*1\r\n\+fast\r\n:0\r\n:0\r\n:0\r\n`,
		"INFO\r\n":                                          `\$\d+\r\n(?s).*loading:0\r\n\r\n`,
		"SELECT 0\r\nSELECT 1\r\n":                          `\+OK\r\n-ERR DB index is out of range\r\n`,
		"QUIT\r\nPING\r\n":                                  `\+OK\r\n`,
		"PING a b\r\n":                                      `-ERR wrong number of arguments for 'ping'\r\n`,
		"*1\r\n$3\r\nGET\r\n*1\r\n$4\r\nPING\r\n":           `-ERR unknown command 'GET'\r\n\+PONG\r\n`,
		"*1\r\n$5\r\nA\r\n\x00é\r\n":                        ended + `a bulk string does not end with CR LF\r\n`,
		"*1\r\n$6\r\nA\r\n\x00é\r\n":                        `-ERR unknown command 'A\?\?\??\?'\r\n`,
		// A page of another origin sends requests of HTTP.
		"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nUID.NEXT 1000\r\n": `-ERR unknown command 'POST'\r\n`,
		// Broken frames end the connection.
		"*9223372036854775807\r\n$4\r\nPING\r\n": ended + `invalid length after '\*', allowed: up to 32\r\n`,
		"*1\r\n$9223372036854775807\r\nPING\r\n": ended + `invalid length after '\$', allowed: up to 1024\r\n`,
		"*99999999999999999999999\r\n":           ended + `invalid length.*\r\n`,
		"*-1\r\nPING\r\n":                        ended + `invalid length.*\r\n`,
		"*33\r\n":                                ended + `invalid length.*\r\n`,
		"*\r\n":                                  ended + `invalid length.*\r\n`,
		"*1x\r\n":                                ended + `invalid length.*\r\n`,
		"*+1\r\n":                                ended + `invalid length.*\r\n`,
		"*1\r\n$-1\r\n":                          ended + `invalid length.*\r\n`,
		"*1\r\n$1025\r\n":                        ended + `invalid length.*\r\n`,
		"*1\r\n:1\r\n":                           ended + `expected '\$'\r\n`,
		"*1\r\n\r\n":                             ended + `expected '\$'\r\n`,
		"*1\r\n$4\r\nPINGxx":                     ended + `a bulk string does not end with CR LF\r\n`,
		strings.Repeat("x", 10_000):              ended + `too big inline request\r\n`,
		"*" + strings.Repeat("1", 10_000):        ended + `too big inline request\r\n`,
		"*1\r\n$4\r\nPI":                         ``,
		"*2\r\n$4\r\nPING\r\n":                   ``,
		"*1":                                     ``,
		"PING":                                   ``,
		"":                                       ``,
		"PING\r\n*1\r\n$x\r\n":                   `\+PONG\r\n` + ended + `invalid length.*\r\n`,
		strings.Repeat("UID.NEXT 1000\r\n", 5):   `(\*1000\r\n[^*]*){5}`,
	} {
		if got := exchange(t, address, sent); !regexp.MustCompile(`^` + want + `$`).MatchString(got) {
			t.Errorf("%.60q: %.200q, want %s", sent, got, want)
		}
	}
}

// A client waits for replies before it sends the rest of the next command.
func TestRepliesAreSentBeforeTheServerWaits(t *testing.T) {
	conn := dial(t, listen(t, newServer(t, conns.Config{}, httpapi.Config{}), nil))
	in := bufio.NewReader(conn)
	next := "PING\r\n"
	for _, more := range []string{"*1\r\n", "$4\r\nPI", "NG", "\r"} {
		fmt.Fprint(conn, next+more)
		if next == "PING\r\n" {
			if line, err := in.ReadString('\n'); line != "+PONG\r\n" {
				t.Fatalf("%q, %v", line, err)
			}
		}
		next = ""
	}
	fmt.Fprint(conn, "\n")
	if line, err := in.ReadString('\n'); line != "+PONG\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
}

// A client that sends commands and does not read costs a bounded amount of memory, and its writes
// block.
func TestClientThatDoesNotReadIsHeldUp(t *testing.T) {
	conn := dial(t, listen(t, newServer(t, conns.Config{}, httpapi.Config{}), nil))
	if err := conn.SetWriteDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	command := strings.Repeat("UID.NEXT 100000\r\n", 1000) // 2.6 GB of replies
	for range 1000 {
		if _, err := io.WriteString(conn, command); err != nil {
			return
		}
	}
	t.Error("the server has read 17 MB of commands")
}

// A script is a connection whose client sends bytes and then no more.
type script struct {
	net.Conn
	sent    io.Reader
	replies bytes.Buffer
}

func (s *script) Read(p []byte) (int, error)     { return s.sent.Read(p) }
func (s *script) Write(p []byte) (int, error)    { return s.replies.Write(p) }
func (*script) RemoteAddr() net.Addr             { return new(net.TCPAddr) }
func (*script) SetReadDeadline(time.Time) error  { return nil }
func (*script) SetWriteDeadline(time.Time) error { return nil }

// No bytes make the server panic, which it would log, or hang. Its bytes are whole replies.
func FuzzBytes(f *testing.F) {
	f.Add([]byte("*1\r\n$4\r\nPING\r\n"))
	f.Add([]byte("UID.NEXT 3\r\nINCR orders\r\nHELLO 3\r\nCOMMAND\r\nQUIT\r\n"))
	f.Add([]byte("*9223372036854775807\r\n$9223372036854775807\r\n"))
	s := newServer(f, conns.Config{}, httpapi.Config{MaxBatch: 10})
	replies := regexp.MustCompile(`^([-+:*%][^\r\n]*\r\n|\$\d+\r\n(?s:.*)\r\n)*$`)
	f.Fuzz(func(t *testing.T, sent []byte) {
		c := &script{sent: bytes.NewReader(sent)}
		newConn(s, c).serve()
		if got := c.replies.String(); !replies.MatchString(got) {
			t.Errorf("%q: %q", sent, got)
		}
	})
}
