package daemon

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
)

// checkRedis rejects an address of the Redis protocol as checkListen does.
func (cfg *Config) checkRedis() error {
	if cfg.RedisListen == "" {
		return nil
	}
	other := *cfg
	other.Listen = cfg.RedisListen
	if err := other.checkListen(); err != nil {
		return fmt.Errorf("redis-%w", err)
	}
	return nil
}

// listenRedis opens the socket of the Redis protocol.
func (s *Service) listenRedis(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.cfg.RedisListen)
	if err != nil {
		return nil, fmt.Errorf("redis-listen %s: %w", s.cfg.RedisListen, err)
	}
	s.logger.Info("listening for the Redis protocol", "address", l.Addr().String(), "tls", s.certificate != nil)
	l = s.conns.Limit(l)
	if s.certificate != nil {
		l = tls.NewListener(l, tlsConfig(s.certificate, s.cfg.MinTLS))
	}
	return l, nil
}

// startRedis serves the Redis protocol, if it is on. end stops it: it answers the commands that
// were received, until ctx ends.
func (s *Service) startRedis(ctx context.Context) (end func(context.Context), err error) {
	if s.redis == nil {
		return func(context.Context) {}, nil
	}
	l, err := s.listenRedis(ctx)
	if err != nil {
		return nil, err
	}
	failed := make(chan error, 1)
	go func() { failed <- s.redis.Serve(l) }()
	return func(ctx context.Context) {
		err := s.redis.Shutdown(ctx)
		_ = l.Close()
		if errServe := <-failed; err != nil || errServe != nil {
			s.logger.Warn("Redis connections were cut off", "error", err, "listener", errServe)
		}
	}, nil
}
