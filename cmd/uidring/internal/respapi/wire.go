package respapi

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// Bounds of a command. The commands of this server are much shorter.
const (
	mostArgs    = 32
	longestArg  = 1024 // bytes
	longestLine = 4096 // bytes of a command in one line
)

// A protocolError is a mistake in the bytes of a client, after which the next command cannot be
// found.
type protocolError string

func (e protocolError) Error() string { return "respapi: " + string(e) }

// readCommand reads a command: an array of bulk strings, or words in a line. It has no words for
// an empty array or line.
//
// The parser of redcon v1.6.4 is not used: it panics for "$9223372036854775807" and computes
// without end for "*9223372036854775807".
func (c *conn) readCommand() (args []string, inline bool, err error) {
	first, err := c.in.Peek(1)
	if err != nil {
		return nil, false, err
	}
	c.begun = time.Now()
	defer func() { c.begun = time.Time{} }()
	if first[0] != '*' {
		line, err := c.readLine()
		return strings.Fields(line), true, err
	}
	n, err := c.readLength('*', mostArgs)
	for range n {
		var arg string
		if arg, err = c.readBulk(); err != nil {
			return nil, false, err
		}
		args = append(args, arg)
	}
	return args, false, err
}

func (c *conn) readBulk() (string, error) {
	n, err := c.readLength('$', longestArg)
	if err != nil {
		return "", err
	}
	text := make([]byte, n+2)
	if _, err := io.ReadFull(c.in, text); err != nil {
		return "", err
	}
	if string(text[n:]) != "\r\n" {
		return "", protocolError("a bulk string does not end with CR LF")
	}
	return string(text[:n]), nil
}

// readLength reads a line with a prefix and a number.
func (c *conn) readLength(prefix byte, most int) (int, error) {
	line, err := c.readLine()
	if err != nil {
		return 0, err
	}
	if line == "" || line[0] != prefix {
		return 0, protocolError("expected '" + string(prefix) + "'")
	}
	n, err := strconv.ParseUint(line[1:], 10, 31)
	if err != nil || int(n) > most {
		return 0, protocolError("invalid length after '" + string(prefix) + "', allowed: up to " + strconv.Itoa(most))
	}
	return int(n), nil
}

// readLine returns a line without its end.
func (c *conn) readLine() (string, error) {
	line, err := c.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", protocolError("too big inline request")
	}
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(string(line[:len(line)-1]), "\r"), nil
}

// The functions below append replies.

func appendError(out []byte, prefix, text string) []byte {
	return append(append(append(append(append(out, '-'), prefix...), ' '), text...), "\r\n"...)
}

func appendSimple(out []byte, text string) []byte {
	return append(append(append(out, '+'), text...), "\r\n"...)
}

// appendHead appends a type and a number: an integer, or the length of an array or a map.
func appendHead(out []byte, kind byte, n int64) []byte {
	return append(strconv.AppendInt(append(out, kind), n, 10), "\r\n"...)
}

func appendBulk(out []byte, text string) []byte {
	return append(append(appendHead(out, '$', int64(len(text))), text...), "\r\n"...)
}

// appendID appends an ID as a bulk string.
func appendID(out []byte, id int64) []byte {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], id, 10)
	return append(append(appendHead(out, '$', int64(len(text))), text...), "\r\n"...)
}

// appendMap appends the head of a map of n pairs, which RESP2 has as an array.
func appendMap(out []byte, version, n int) []byte {
	if version == 3 {
		return appendHead(out, '%', int64(n))
	}
	return appendHead(out, '*', int64(2*n))
}

func lower(name string) string { return strings.ToLower(name) }

// quote returns a word of a client for an error, without characters that would end the reply.
func quote(word string) string {
	const most = 64
	if len(word) > most {
		word = word[:most]
	}
	return "'" + strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, word) + "'"
}
