package cli

import (
	"io"
	"math"
	"text/template"

	"github.com/uidring/uidring/bitsalloc"
)

// printFunctions prints the SQL functions of a database for the IDs of a layout and epoch.
func printFunctions(w io.Writer, database string, alloc *bitsalloc.Allocator) error {
	l := alloc.Layout()
	shift := l.DatacenterBits + l.WorkerBits + l.SequenceBits
	return functions.ExecuteTemplate(w, database, map[string]any{
		"Layout": l, "Epoch": alloc.Epoch().Format("2006-01-02 15:04:05.000"), "Unit": l.Unit.Milliseconds(),
		"Shift": shift, "Step": int64(1) << shift, "MaxDelta": alloc.MaxDelta(), "After": int64(min(uint64(alloc.MaxDelta()+1)<<shift, math.MaxInt64)),
		"DatacenterShift": l.WorkerBits + l.SequenceBits, "MaxDatacenter": alloc.MaxDatacenterID(),
		"WorkerShift": l.SequenceBits, "MaxWorker": alloc.MaxWorkerID(), "MaxSequence": alloc.MaxSequence(),
	})
}

// functions has a template for each database. uidring_at agrees with MinAt of package bitsalloc,
// the others with Parse.
var functions = template.Must(template.New("").Parse(`
{{define "mysql"}}-- For the IDs of layout {{.Layout}} since {{.Epoch}} UTC. All times are UTC.
DROP FUNCTION IF EXISTS uidring_time;
CREATE FUNCTION uidring_time(id BIGINT) RETURNS DATETIME(3) DETERMINISTIC NO SQL
  RETURN TIMESTAMPADD(MICROSECOND, (id >> {{.Shift}}) * {{.Unit}} * 1000, TIMESTAMP'{{.Epoch}}');
DROP FUNCTION IF EXISTS uidring_at;
CREATE FUNCTION uidring_at(t DATETIME(3)) RETURNS BIGINT DETERMINISTIC NO SQL
  RETURN CASE WHEN t < TIMESTAMP'{{.Epoch}}' THEN 1
    WHEN TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'{{.Epoch}}', t) DIV 1000 DIV {{.Unit}} > {{.MaxDelta}} THEN {{.After}}
    ELSE GREATEST(1, TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'{{.Epoch}}', t) DIV 1000 DIV {{.Unit}} * {{.Step}}) END;
DROP FUNCTION IF EXISTS uidring_datacenter;
CREATE FUNCTION uidring_datacenter(id BIGINT) RETURNS BIGINT DETERMINISTIC NO SQL RETURN id >> {{.DatacenterShift}} & {{.MaxDatacenter}};
DROP FUNCTION IF EXISTS uidring_worker;
CREATE FUNCTION uidring_worker(id BIGINT) RETURNS BIGINT DETERMINISTIC NO SQL RETURN id >> {{.WorkerShift}} & {{.MaxWorker}};
DROP FUNCTION IF EXISTS uidring_sequence;
CREATE FUNCTION uidring_sequence(id BIGINT) RETURNS BIGINT DETERMINISTIC NO SQL RETURN id & {{.MaxSequence}};
{{end}}
{{define "postgres"}}-- For the IDs of layout {{.Layout}} since {{.Epoch}} UTC.
CREATE OR REPLACE FUNCTION uidring_time(id bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT (timestamp '{{.Epoch}}' + (id >> {{.Shift}}) * {{.Unit}} / 1000 * interval '1 second'
    + (id >> {{.Shift}}) * {{.Unit}} % 1000 * interval '1 millisecond') AT TIME ZONE 'UTC' $$;
CREATE OR REPLACE FUNCTION uidring_at(t timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN t < timestamp '{{.Epoch}}' AT TIME ZONE 'UTC' THEN 1 WHEN units <= {{.MaxDelta}} THEN greatest(1, units * {{.Step}}) ELSE {{.After}} END
  FROM (SELECT floor(extract(epoch FROM CASE WHEN isfinite(t) THEN (t AT TIME ZONE 'UTC') - timestamp '{{.Epoch}}' END) * 1000 / {{.Unit}})::bigint) AS since(units) $$;
CREATE OR REPLACE FUNCTION uidring_datacenter(id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT id >> {{.DatacenterShift}} & {{.MaxDatacenter}} $$;
CREATE OR REPLACE FUNCTION uidring_worker(id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT id >> {{.WorkerShift}} & {{.MaxWorker}} $$;
CREATE OR REPLACE FUNCTION uidring_sequence(id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$ SELECT id & {{.MaxSequence}} $$;
{{end}}
{{define "sqlite"}}-- For the IDs of layout {{.Layout}} since {{.Epoch}} UTC. SQLite has no functions in SQL: these are expressions.
-- uidring_time(id):
strftime('%Y-%m-%d %H:%M:%f', '{{.Epoch}}', ((id >> {{.Shift}}) * {{.Unit}} / 1000.0) || ' seconds')
-- uidring_at(t):
iif(julianday(t) < julianday('{{.Epoch}}'), 1, max(1, iif(CAST(round((julianday(t) - julianday('{{.Epoch}}')) * 86400000) AS INTEGER) / {{.Unit}} > {{.MaxDelta}}, {{.After}},
  CAST(round((julianday(t) - julianday('{{.Epoch}}')) * 86400000) AS INTEGER) / {{.Unit}} * {{.Step}})))
-- uidring_datacenter(id):
(id >> {{.DatacenterShift}} & {{.MaxDatacenter}})
-- uidring_worker(id):
(id >> {{.WorkerShift}} & {{.MaxWorker}})
-- uidring_sequence(id):
(id & {{.MaxSequence}})
{{end}}`))
