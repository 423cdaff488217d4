package remoteassigner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/uidring/uidring"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/internal/storecall"
)

// mostCalls is the largest number of calls on the stores at once. Each may need a connection to the
// database, which PostgreSQL has 100 of by default.
const mostCalls = 16

// NewHandler returns a handler that offers stores to clients of [LeaseStore]. open returns the
// store of a namespace, or nil for a namespace that is not offered; many goroutines call it at
// once, for each request.
//
// The handler expects paths that begin with /v1/leases/. It does not check tokens: a client can
// change every lease of the offered namespaces, so wrap the handler in a check of your own, and
// limit the requests under way. A client also reads the meta rows of all other namespaces of the
// store, which a claim warns of if they give out the same IDs. The handler makes up to 16 calls on
// the stores at once; further ones wait until their request ends, and get status 503 then. A call
// begins before its body is read, so set http.Server.ReadTimeout. A request and an answer have up
// to 1 MiB each, about 4,000 rows: to list or recover a larger namespace, use the store itself.
func NewHandler(open func(namespace string) leasestore.Store) http.Handler {
	calls := make(chan struct{}, mostCalls)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		namespace, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, pathPrefix), "/")
		known := slices.Contains(methods, method)
		if r.Method != http.MethodPost && known {
			w.Header().Set("Allow", http.MethodPost)
			refuse(w, http.StatusMethodNotAllowed, "The method is not allowed, allowed: POST.")
			return
		}
		s := leasestore.Store(nil)
		if known && leasestore.CheckNamespace(namespace) == nil {
			s = open(namespace)
		}
		if s == nil {
			refuse(w, http.StatusNotFound, "This server offers no leases under this path.")
			return
		}
		select {
		case calls <- struct{}{}:
		case <-r.Context().Done():
			refuse(w, http.StatusServiceUnavailable, "Too many calls on the store are under way.")
			return
		}
		release := sync.OnceFunc(func() { <-calls })
		defer release()
		q, status, detail := ask(w, r, method)
		if detail != "" {
			refuse(w, status, detail)
			return
		}
		result, err := do(r.Context(), s, method, q)
		release() // the client may be slow to read
		reply(w, q.Nonce, result, err)
	})
}

// ask reads the arguments of a call. A detail is the reason why it cannot.
func ask(w http.ResponseWriter, r *http.Request, method string) (q question, status int, detail string) {
	// A page of another origin can send other types without asking the server first.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return q, http.StatusUnsupportedMediaType, "The body has another Content-Type, allowed: application/json."
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBytes))
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return q, http.StatusRequestEntityTooLarge, fmt.Sprintf("The body is too long, allowed: up to %d bytes.", mostBytes)
	}
	if err != nil {
		return q, http.StatusRequestTimeout, "The body was not complete in time."
	}
	if err = json.Unmarshal(text, &q); err == nil {
		err = q.check(method)
	}
	if err != nil {
		return q, http.StatusBadRequest, "The body is not the arguments of a method: " + err.Error()
	}
	return q, 0, ""
}

// methods has the names of the methods in paths.
var methods = []string{"status", "load-meta", "swap-meta", "load", "list", "expired", "swap", "create-free", "namespaces"}

// do makes a call on a store. Its result is never null: a client takes null for no result.
func do(ctx context.Context, s leasestore.Store, method string, q question) (any, error) {
	switch method {
	case "status":
		return s.Status(ctx)
	case "load-meta":
		return s.LoadMeta(ctx)
	case "swap-meta":
		return s.SwapMeta(ctx, *q.OldMeta, *q.NextMeta)
	case "load":
		return s.Load(ctx, q.WorkerID)
	case "list":
		return notNull(s.List(ctx))
	case "expired":
		return notNull(s.Expired(ctx, q.N))
	case "swap":
		return s.Swap(ctx, *q.Old, *q.Next, q.TTL)
	case "create-free":
		return s.CreateFree(ctx, q.Rows, q.TTL)
	default:
		all, err := s.Namespaces(ctx)
		if all == nil {
			all = map[string]leasestore.Meta{}
		}
		return all, err
	}
}

func notNull(rows []leasestore.Row, err error) ([]leasestore.Row, error) {
	return append([]leasestore.Row{}, rows...), err
}

// reply answers with the result of a store. A write error means that the client has disconnected,
// and takes the swap for unknown.
func reply(w http.ResponseWriter, nonce string, result any, err error) {
	status, full := http.StatusOK, answer[any]{Nonce: nonce, Result: &result}
	if err != nil {
		_, passes := uidring.RetryAfter(err)
		status, full.Error = http.StatusBadGateway, &failure{err.Error(), errors.Is(err, leasestore.ErrOverlap), passes || storecall.Passes(err)}
	}
	body, errJSON := json.Marshal(full)
	if errJSON == nil && len(body) > mostBytes {
		errJSON = fmt.Errorf("it has %d bytes, allowed: %d; use the store of the server itself", len(body), mostBytes)
	}
	if errJSON != nil { // also for a time beyond the year 9999
		reply(w, nonce, nil, fmt.Errorf("the result cannot be sent: %w", errJSON))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// refuse answers with a problem of RFC 9457.
func refuse(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	problem := map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": detail}
	_ = json.NewEncoder(w).Encode(problem)
}
