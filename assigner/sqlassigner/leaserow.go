package sqlassigner

import (
	"time"

	"github.com/uidring/uidring/assigner"
)

// rowColumns are the columns that scanRow reads.
const rowColumns = "WORKER_ID, VERSION, FENCE, TOKEN, OWNER, HOLDER, SERVER_ID, {expires}"

func scanRow(result interface{ Scan(...any) error }) (r assigner.Row, err error) {
	var expires int64
	err = result.Scan(&r.WorkerID, &r.Version, &r.Fence, &r.Token, &r.Owner, &r.Holder, &r.Identity, &expires)
	if err != nil {
		return assigner.Row{}, err
	}
	r.Expires = time.UnixMicro(expires).UTC()
	return r, nil
}
