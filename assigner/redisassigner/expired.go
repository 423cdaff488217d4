package redisassigner

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/uidring/uidring/assigner"
)

// Expired returns up to n expired rows, the earliest first, from the sorted set of expiries. If
// rows are missing from the set, because its key was lost or another program wrote the rows,
// Expired reads all rows once and adds them.
func (l *leases) Expired(ctx context.Context, n int) ([]assigner.Row, error) {
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	rows, lacks, err := l.candidates(ctx, n)
	if err != nil || lacks <= 0 {
		return rows, err
	}
	if err := l.index(ctx); err != nil {
		return nil, err
	}
	rows, _, err = l.candidates(ctx, n)
	return rows, err
}

// candidates returns up to n expired rows, and how many rows are missing from the set of expiries.
func (l *leases) candidates(ctx context.Context, n int) (rows []assigner.Row, lacks int64, err error) {
	answer, err := l.expired.Run(ctx, l.client, []string{l.key, l.expiryKey()}, max(n, 0)).Slice()
	if err != nil {
		return nil, 0, l.explain(ctx, "read the expired rows", err)
	}
	lacks, ok := answer[0].(int64)
	found, ok2 := answer[1].([]any)
	if !ok || !ok2 {
		return nil, 0, l.explain(ctx, "read the expired rows", fmt.Errorf("answer %T, %T of the script", answer[0], answer[1]))
	}
	for i := 0; i+1 < len(found); i += 2 {
		row, err := l.row(fmt.Sprint(found[i]), fmt.Sprint(found[i+1]))
		if err != nil {
			return nil, 0, err
		}
		rows = append(rows, row)
	}
	return rows, lacks, nil
}

// index adds missing rows to the set of expiries. It leaves existing entries unchanged, since a
// swap may have written them after index read the row. It reads in pages, so that the server can
// answer other clients in between.
func (l *leases) index(ctx context.Context) error {
	const page = 1000
	for cursor := uint64(0); ; {
		fields, next, err := l.client.HScan(ctx, l.key, cursor, "", page).Result()
		if err != nil {
			return l.explain(ctx, "read a page", err)
		}
		var entries []redis.Z
		for i := 0; i+1 < len(fields); i += 2 {
			if fields[i] == metaField {
				continue
			}
			row, err := l.row(fields[i], fields[i+1])
			if err != nil {
				return err
			}
			entries = append(entries, redis.Z{Score: float64(row.Expires.UnixMicro()), Member: fields[i]})
		}
		if len(entries) > 0 {
			if err := l.client.ZAddNX(ctx, l.expiryKey(), entries...).Err(); err != nil {
				return l.explain(ctx, "write to "+l.expiryKey(), err)
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
