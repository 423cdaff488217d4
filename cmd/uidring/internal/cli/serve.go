package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/cmd/uidring/internal/daemon"
	"github.com/uidring/uidring/cmd/uidring/internal/storeurl"
)

const serveLong = `serve serves IDs over HTTP until a signal ends it. docs/SERVICE.md describes its API, docs/SERVING.md how to run it.

By default it keeps worker IDs in a SQLite file of the data folder, and answers this host only. Servers that share a store
with --store are one service. Servers with separate stores give out the same IDs: serve therefore creates a second store only
with --new-store. Each flag has an environment variable, as UIDRING_TLS_CERT for --tls-cert.`

func newServe(s *streams) *cobra.Command {
	f := new(serveFlags)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve IDs over HTTP",
		Long:  serveLong,
		Example: "  uidring serve\n" +
			"  curl http://127.0.0.1:8080/v1/id\n" +
			"  UIDRING_STORE=mysql://ids:secret@db/ids uidring serve --namespace orders",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd, s.err) },
	}
	f.addTo(cmd)
	return cmd
}

// serveFlags are the values of the flags, before finish completes them.
type serveFlags struct {
	config    daemon.Config
	format    idFormat
	data, url string
	logLevel  slog.Level
	logFormat string
}

func (f *serveFlags) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	f.addListening(flags)
	f.addIDs(cmd)
	flags.DurationVar(&f.config.Drain, "drain", 0, "how long serve goes on after a signal, with /readyz answering 503")
	flags.TextVar(&f.logLevel, "log-level", slog.LevelInfo, "lowest `level` of log records: debug, info, warn or error")
	flags.StringVar(&f.logFormat, "log-format", "text", "`format` of the log on stderr: text or json")
}

func (f *serveFlags) addListening(flags *pflag.FlagSet) {
	c := &f.config
	flags.StringVar(&c.Listen, "listen", "127.0.0.1:8080", "`host:port` of the API; an address that other hosts reach requires --tokens, --tls-cert and --tls-key")
	flags.StringVar(&c.AdminListen, "admin-listen", "127.0.0.1:8081", "`host:port` of the page, /metrics, /healthz and /readyz, with the same tokens and certificate")
	flags.StringSliceVar(&c.AllowedHosts, "allowed-host", nil, "more `names` of the server that requests may be for, separated by commas; *: any name")
	flags.StringVar(&c.CertFile, "tls-cert", "", "PEM `file` with the certificate and its chain")
	flags.StringVar(&c.KeyFile, "tls-key", "", "PEM `file` with the key of the certificate")
	flags.StringVar(&c.TokenFile, "tokens", "", "`file` with the tokens of clients, one name and token per line")
	flags.BoolVar(&c.Insecure, "insecure", false, "allow other hosts without tokens or without TLS")
	flags.IntVar(&c.MaxConnections, "max-connections", 4096, "concurrent connections to --listen; others wait")
	flags.Float64Var(&c.Rate, "rate", 0, "IDs per second for each name in the token file, or without tokens for all clients together; 0: no limit")
	flags.IntVar(&c.Burst, "burst", 0, "IDs at once after a pause, with a rate, and per request; 0: the IDs of one second")
}

func (f *serveFlags) addIDs(cmd *cobra.Command) {
	c, flags := &f.config, cmd.Flags()
	flags.StringVar(&f.data, "data", dataFolder(), "`folder` for the SQLite file with the worker IDs, created if missing; not with --store")
	addStore(cmd, &f.url)
	flags.StringVar(&c.Namespace, "namespace", "default", "`name` of the namespace of worker IDs: the same for all services whose IDs can meet")
	flags.BoolVar(&c.NewStore, "new-store", false, "create a new store although serve expects an existing one; for one start")
	flags.BoolVar(&c.CreateSchema, "create-schema", true, "create missing tables")
	flags.BoolVar(&c.Lease.AllowUndurable, "allow-undurable", false, "accept a store that may lose acknowledged writes, or a file in memory or on a network file system: duplicates are possible")
	flags.DurationVar(&c.Lease.Window, "window", 0, "how far ahead a lease reaches: how long the server goes on without the store; 0: 2m")
	flags.Int64Var(&c.Lease.FirstWorkerID, "first-worker-id", 0, "smallest worker ID of the namespace, if WORKER_NODE of the database uses the lower ones")
	flags.StringSliceVar(&c.Segments, "segments", nil, "`names` of the counters to serve under /v1/segments/, separated by commas; empty: none")
	flags.StringSliceVar(&c.Leases, "leases", nil, "`names` of the namespaces whose leases other processes may take over HTTP, separated by commas; empty: none")
	flags.StringVar(&c.LeaseTokenFile, "lease-tokens", "", "`file` with the tokens for leases; a token can change every lease")
	flags.DurationVar(&c.MaxAge, "max-age", time.Minute, "the longest time that a client may keep an ID before it uses the ID, 1s to 1m in whole seconds; the horizon stays behind these IDs")
	f.format.addTo(cmd)
	flags.Int64Var(&c.Generator.DatacenterID, "datacenter", 0, "value of the datacenter field")
	flags.DurationVar(&c.Generator.MaxAhead, "max-ahead", 0, "how far the time in an ID may run ahead of the clock, at least two windows, and the same for all servers of the namespace; 0: two and a half windows")
}

// serve runs the service. It reports all invalid settings at once.
func (f *serveFlags) serve(cmd *cobra.Command, log io.Writer) error {
	err := f.finish(cmd.Flags())
	f.config.Logger = f.logger(log)
	slog.SetDefault(f.config.Logger) // for the warnings of stores
	process, errNew := daemon.New(f.config)
	switch err = errors.Join(err, errNew); {
	case errors.Is(err, storeurl.ErrNoLogin): // another start may succeed, or end by the other mistakes
		return err
	case err != nil:
		return usageError{err}
	}
	logSettings(f.config.Logger, cmd.Flags())
	ctx, stop := untilSignal(cmd.Context())
	defer stop()
	if err = process.Run(ctx); permanent(err) {
		return usageError{err}
	}
	return err
}

// permanent reports whether another start with the same settings would fail again.
func permanent(err error) bool {
	return slices.ContainsFunc([]error{daemon.ErrSecondStore, assigner.ErrLayoutMismatch, assigner.ErrWorkerOutOfRange, leasestore.ErrOverlap},
		func(cause error) bool { return errors.Is(err, cause) })
}

// untilSignal returns a context that ends with the first SIGTERM or SIGINT. A second signal ends
// the process at once, but only after 500 ms: timeout(1) and others send a signal twice, to the
// process and to its group.
func untilSignal(ctx context.Context) (_ context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(500*time.Millisecond, stop) })
	return ctx, stop
}

func (f *serveFlags) logger(to io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: f.logLevel, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch {
		case a.Value.Kind() == slog.KindDuration: // JSON would have bare nanoseconds
			a.Value = slog.StringValue(a.Value.Duration().String())
		case a.Key == "error" || a.Key == "remedy":
			a.Value = slog.StringValue(settingNames.Replace(a.Value.String()))
		}
		return a
	}}
	if f.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}

// finish sets the fields of the configuration that no flag sets directly.
func (f *serveFlags) finish(flags *pflag.FlagSet) (err error) {
	c := &f.config
	c.Version = version()
	c.KnownStores = knownFolder()
	c.Generator.Layout, c.Generator.Epoch = f.format.layout, f.format.epoch.Time
	if f.logFormat != "text" && f.logFormat != "json" {
		err = fmt.Errorf("log-format %q, allowed: text, json", f.logFormat)
	}
	if c.StoreURL = f.url; f.url == "" {
		var errData error
		if c.StoreURL, errData = dataURL(f.data); errData != nil {
			c.StoreURL = "sqlite:none" // which is no mistake and not used
		}
		err = errors.Join(err, errData)
	} else if flags.Changed("data") {
		err = errors.Join(err, errors.New("data and store, allowed: one of them; the URL of the store says where worker IDs are kept"))
	}
	return err
}
