package httpapi

import "context"

// A Session is a client of another protocol. It draws IDs with the tokens and limits of the HTTP
// API. One goroutine uses it at a time.
type Session struct {
	server *Server
	remote string // address of the client, for the log
	secret string
	tokens Tokens // in which client was found
	client client
	known  bool
}

// NewSession returns the session of a client at an address, without a token.
func (s *Server) NewSession(remote string) *Session { return &Session{server: s, remote: remote} }

// NeedsToken reports whether clients need a token.
func (c *Session) NeedsToken() bool { return c.server.cfg.Tokens().Len() > 0 }

// Login reports whether the secret is a token, and uses it from then on. It counts and logs a
// refused one as the HTTP API does.
func (c *Session) Login(secret string) bool {
	next := Session{server: c.server, remote: c.remote, secret: secret}
	if !next.Admitted() {
		c.server.metrics.tokens.WithLabelValues(next.client.name, "401").Inc()
		c.server.audit(next.client.name, c.remote, "AUTH")
		return false
	}
	*c = next
	return true
}

// Admitted reports whether the client may draw IDs: its token is known, and was not removed
// since.
func (c *Session) Admitted() bool {
	if tokens := c.server.cfg.Tokens(); !c.known || !c.tokens.same(tokens) {
		c.client, c.known = c.server.clients.ofSecret(tokens, c.secret)
		c.tokens = tokens
	}
	return c.known
}

// A Refusal is the problem of the HTTP API with which a client gets no IDs.
type Refusal struct {
	Name   string // such as no-lease
	Detail string
}

// MaxBatch returns the largest number of IDs for a call of Draw.
func (c *Session) MaxBatch() int { return c.server.cfg.MaxBatch }

// Draw takes n IDs, 1 to MaxBatch, of the named segment, or of the generator if the name is "".
// It passes them to each as consecutive IDs, or returns a refusal without a call. The session is
// admitted.
func (c *Session) Draw(ctx context.Context, segment string, n int, each func(first int64, n int)) *Refusal {
	from := &c.server.supply
	if segment != "" {
		from = c.server.segments[segment]
	}
	if from == nil {
		return notFound.because("This server has no such segment.").refusal()
	}
	if p := c.client.spend(n); p != nil {
		return p.refusal()
	}
	b := c.server.batches.Get().(*batch)
	defer c.server.batches.Put(b)
	if err := from.reserve(ctx, b, n); err != nil {
		return ofTake(err).refusal()
	}
	for _, s := range b.spans {
		each(s.first, s.n)
	}
	c.client.drew(n)
	return nil
}

func (p *problem) refusal() *Refusal { return &Refusal{p.name, p.detail} }
