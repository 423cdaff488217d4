package storeurl_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/fileassigner"
	"github.com/uidring/uidring/assigner/leasestore"
	"github.com/uidring/uidring/assigner/remoteassigner"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// A URL has the token, the authority of the certificate, a prefix of the path, and a second server
// in place of the first, which does not answer.
func TestOpenRemoteLeases(t *testing.T) {
	const token = "sesame/+=0123456"
	usual := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = usual })
	http.DefaultTransport = http.NewFileTransport(nil) // tracing libraries replace it, too
	leases := fileassigner.LeaseStore(testserver.DiskFolder(t), fileassigner.Config{})
	handler := remoteassigner.NewHandler(func(string) leasestore.Store { return leases })
	server := httptest.NewTLSServer(http.StripPrefix("/ids", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})))
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	testkit.Must(t, os.WriteFile(ca, text, 0o600))
	host := strings.TrimPrefix(server.URL, "https://")
	s := open(t, "https://:sesame%2F+=0123456@"+testserver.FreeAddr(t)+"/ids/?addr="+host+"&ca="+ca, "orders")
	if _, err := s.Status(t.Context()); err == nil {
		t.Error("the first server answers")
	}
	use(t, s)
	if _, err := s.SegmentSource(false); err == nil || !strings.HasSuffix(err.Error(), ": segments, allowed with a database, Redis, etcd or a folder") {
		t.Errorf("SegmentSource of a server: %v", err)
	}
	if _, err := open(t, "https://:other-token-01234@"+host+"/ids?ca="+ca, "orders").Status(t.Context()); err == nil || strings.Contains(err.Error(), "other-token") {
		t.Errorf("another token: %v", err)
	}
}
