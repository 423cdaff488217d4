package natsassigner_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/natsassigner"
	"github.com/uidring/uidring/internal/test/testkit"
	"github.com/uidring/uidring/internal/test/testserver"
)

// The documentation of the package has these permissions.
func TestDocumentedPermissionsSuffice(t *testing.T) {
	conf := t.TempDir() + "/conf"
	text := fmt.Appendf(nil, `
jetstream { store_dir: %q, sync_interval: always }
authorization { users: [ { user: admin, password: "x" }, { user: ids, password: "x", permissions: {
	publish: [ "$JS.API.STREAM.INFO.KV_uidring", "$JS.API.STREAM.MSG.GET.KV_uidring", "$KV.uidring.>" ]
	subscribe: [ "_INBOX.>" ]
} } ] }
`, t.TempDir())
	if err := os.WriteFile(conf, text, 0o600); err != nil {
		t.Fatal(err)
	}
	server := testserver.NATS(t, "-c", conf)
	create(t, connect(t, server, nats.UserInfo("admin", "x")), natsassigner.StreamConfig(bucket, 1))
	js := connect(t, server, nats.UserInfo("ids", "x"))
	a := assigner.Leased(natsassigner.LeaseStore(js, bucket, "orders", durable), assigner.LeaseConfig{Window: 2 * time.Second, MaxSkew: time.Second})
	var l assigner.Lease
	testkit.Succeeds(t, "the end of the quarantine", func() (err error) {
		l, err = a.Assign(t.Context(), assignertest.Domain())
		return err
	})
	before, limit := js.Conn().Stats().OutMsgs, l.Grant().Limit
	if err := l.Renew(t.Context(), limit, limit+100); err != nil {
		t.Fatal(err)
	}
	if got := js.Conn().Stats().OutMsgs - before; got != 4 {
		t.Errorf("%d requests of a renewal, want 4, as documented", got)
	}
}
