package natsassigner_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/uidring/uidring/assigner/natsassigner"
	"github.com/uidring/uidring/internal/test/stores"
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
	s := replicated{natsassigner.LeaseStore(js, bucket, "orders", durable)}
	stores.RenewalTakes(t, s, 4, func() int64 { return int64(js.Conn().Stats().OutMsgs) }) // as documented
}
