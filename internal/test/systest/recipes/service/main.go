package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/uidring/uidring/assigner/sqlassigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/cached"
)

func main() {
	if err := run(); err != nil {
		slog.Error("ended", "error", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	db, err := sqlassigner.OpenMySQL(os.Getenv("DATABASE"))
	if err != nil {
		return err
	}
	defer db.Close()
	ids, err := cached.NewContext(ctx, cached.Config{
		Assigner: sqlassigner.Leased(db, "orders"),
		Layout:   bitsalloc.Recommended(),
	})
	if err != nil {
		return err
	}
	defer ids.Close() // gives the worker ID back

	server := &http.Server{
		Addr:              cmp.Or(os.Getenv("LISTEN"), "127.0.0.1:8000"),
		Handler:           routes(ids.NextContext),
		ReadHeaderTimeout: 5 * time.Second,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return server.Shutdown(context.Background()) // requests end before ids.Close
	}
}

// routes answers POST /orders with an ID, or with 503 if there is none within a second.
func routes(next func(context.Context) (int64, error)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		id, err := next(ctx)
		if err != nil {
			w.Header().Set("Retry-After", "1")
			http.Error(w, "no ID, try again", http.StatusServiceUnavailable) // the generator logs why
			return
		}
		fmt.Fprintln(w, id)
	})
	return mux
}
