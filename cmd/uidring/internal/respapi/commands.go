package respapi

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A command is a command of the server.
type command struct {
	name        string
	least, most int  // number of words, with the name
	open        bool // needs no token
	run         func(c *conn, args []string) (code string)
}

// Codes of replies for the metrics; the others are names of problems of the HTTP API.
const (
	done = "ok"
	quit = "quit" // the connection ends
)

// redisVersion is the version of Redis whose protocol the server speaks. Clients read it.
const redisVersion = "7.0.0"

// newCommands returns the commands by name.
func newCommands() map[string]command {
	found := make(map[string]command)
	for _, c := range []command{
		{"uid.next", 1, 2, false, (*conn).next},
		{"incr", 2, 2, false, (*conn).incr},
		{"ping", 1, 2, false, (*conn).ping},
		{"echo", 2, 2, false, (*conn).echo},
		{"auth", 2, 3, true, (*conn).auth},
		{"hello", 1, 7, true, (*conn).hello},
		{"client", 2, mostArgs, false, (*conn).client},
		{"command", 1, mostArgs, false, (*conn).command},
		{"info", 1, mostArgs, false, (*conn).info},
		{"select", 2, 2, false, (*conn).selectDB},
		{"quit", 1, 1, true, (*conn).quit},
	} {
		found[c.name] = c
	}
	return found
}

// next is UID.NEXT [n]: an ID, or an array of n IDs, as bulk strings.
func (c *conn) next(args []string) string {
	if len(args) == 1 {
		return c.draw("", 1, func(first int64, _ int) { c.out = appendID(c.out, first) })
	}
	n, err := strconv.Atoi(args[1])
	if most := c.session.MaxBatch(); err != nil || n < 1 || n > most || args[1] != strconv.Itoa(n) {
		return c.refuse("bad-request", "ERR", "n is "+quote(args[1])+", allowed: 1 to "+strconv.Itoa(most))
	}
	head := false
	return c.draw("", n, func(first int64, got int) {
		if !head {
			c.out = appendHead(c.out, '*', int64(n))
			head = true
		}
		for i := range int64(got) {
			c.out = appendID(c.out, first+i)
			if len(c.out) > mostBuffered {
				c.flush()
			}
			if c.failed != nil {
				return
			}
		}
	})
}

// incr is INCR key: the next number of a segment, as an integer.
func (c *conn) incr(args []string) string {
	if args[1] == "" {
		return c.refuse("bad-request", "ERR", "the key is empty, allowed: the name of a segment")
	}
	return c.draw(args[1], 1, func(first int64, _ int) { c.out = appendHead(c.out, ':', first) })
}

// draw replies with IDs, or with the problem of the HTTP API: its name in capitals, and its
// detail.
func (c *conn) draw(segment string, n int, each func(first int64, n int)) string {
	if p := c.session.Draw(c.server.ctx, segment, n, each); p != nil {
		return c.refuse(p.Name, strings.ToUpper(strings.ReplaceAll(p.Name, "-", "")), p.Detail)
	}
	return done
}

func (c *conn) ok() string {
	c.out = appendSimple(c.out, "OK")
	return done
}

func (c *conn) ping(args []string) string {
	if len(args) == 2 {
		return c.echo(args)
	}
	c.out = appendSimple(c.out, "PONG")
	return done
}

func (c *conn) echo(args []string) string {
	c.out = appendBulk(c.out, args[1])
	return done
}

// auth is AUTH [name] token. The token alone decides.
func (c *conn) auth(args []string) string {
	if code := c.login(args[len(args)-1]); code != done {
		return code
	}
	return c.ok()
}

// login replies only if it fails.
func (c *conn) login(secret string) string {
	switch {
	case !c.session.NeedsToken():
		return c.refuse("bad-request", "ERR", "AUTH <password> called without any password configured for the default user. "+
			"Are you sure your configuration is correct?") // the words of Redis, which clients know
	case !c.session.Login(secret):
		return c.refuse("unauthorized", "WRONGPASS", "invalid username-password pair or user is disabled.")
	}
	return done
}

// hello is HELLO [2|3 [AUTH name token] [SETNAME name]].
func (c *conn) hello(args []string) string {
	version := c.version
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		if err != nil || n != 2 && n != 3 {
			return c.refuse("bad-request", "NOPROTO", "unsupported protocol version")
		}
		version = n
	}
	for rest := args[min(2, len(args)):]; len(rest) > 0; {
		switch option := lower(rest[0]); {
		case option == "auth" && len(rest) >= 3:
			if code := c.login(rest[2]); code != done {
				return code
			}
			rest = rest[3:]
		case option == "setname" && len(rest) >= 2:
			rest = rest[2:]
		default:
			return c.refuse("bad-request", "ERR", "Syntax error in HELLO option "+quote(rest[0]))
		}
	}
	if !c.session.Admitted() {
		return c.refuse("unauthorized", "NOAUTH", "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> "+
			"option can be used to authenticate the client and select the RESP protocol version at the same time")
	}
	c.version = version
	c.out = appendMap(c.out, version, 7) // in the order of Redis, on which some clients rely
	c.out = appendBulk(appendBulk(c.out, "server"), "uidring")
	c.out = appendBulk(appendBulk(c.out, "version"), redisVersion)
	c.out = appendHead(appendBulk(c.out, "proto"), ':', int64(version))
	c.out = appendHead(appendBulk(c.out, "id"), ':', c.id)
	c.out = appendBulk(appendBulk(c.out, "mode"), "standalone")
	c.out = appendBulk(appendBulk(c.out, "role"), "master")
	c.out = appendHead(appendBulk(c.out, "modules"), '*', 0)
	return done
}

// client is CLIENT SETINFO and CLIENT SETNAME, which clients send by themselves. Names are not
// kept.
func (c *conn) client(args []string) string {
	switch lower(args[1]) {
	case "setinfo", "setname":
		return c.ok()
	}
	return c.refuse("bad-request", "ERR", "unknown subcommand "+quote(args[1]))
}

// command is COMMAND, COMMAND COUNT and COMMAND DOCS. There are no docs.
func (c *conn) command(args []string) string {
	all := c.server.commands
	switch {
	case len(args) == 1:
		c.out = appendHead(c.out, '*', int64(len(all)))
		for _, name := range slices.Sorted(maps.Keys(all)) {
			c.out = all[name].describe(c.out)
		}
	case lower(args[1]) == "count":
		c.out = appendHead(c.out, ':', int64(len(all)))
	case lower(args[1]) == "docs":
		c.out = appendMap(c.out, c.version, 0)
	default:
		return c.refuse("bad-request", "ERR", "unknown subcommand "+quote(args[1]))
	}
	return done
}

// describe appends the six elements of COMMAND: name, arity, flags, and the places of keys.
func (d command) describe(out []byte) []byte {
	arity := int64(d.least)
	if d.most > d.least {
		arity = -arity
	}
	key := int64(0)
	if d.name == "incr" {
		key = 1
	}
	out = appendHead(appendBulk(appendHead(out, '*', 6), d.name), ':', arity)
	out = appendSimple(appendHead(out, '*', 1), "fast")
	for range 3 {
		out = appendHead(out, ':', key)
	}
	return out
}

// info is INFO, in which some clients look for loading:0 before their first command.
func (c *conn) info([]string) string {
	c.out = appendBulk(c.out, "# Server\r\nredis_version:"+redisVersion+"\r\nredis_mode:standalone\r\n# Persistence\r\nloading:0\r\n")
	return done
}

// selectDB is SELECT 0.
func (c *conn) selectDB(args []string) string {
	if args[1] != "0" {
		return c.refuse("bad-request", "ERR", "DB index is out of range")
	}
	return c.ok()
}

func (c *conn) quit([]string) string {
	c.ok()
	return quit
}
