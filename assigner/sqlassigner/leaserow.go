package sqlassigner

import (
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/uidring/uidring/assigner"
)

// rowColumns are the columns that a rowScanner reads.
const rowColumns = "WORKER_ID, VERSION, FENCE, TOKEN, OWNER, HOLDER, SERVER_ID, {expires}"

// A rowScanner converts results to rows. A namespace may have millions of rows, so the scanner
// avoids reflection and allocates the texts of a row together.
type rowScanner struct {
	numbers [4]integer // WORKER_ID, VERSION, FENCE, the expiry
	texts   textBuffer
	dest    []any
}

func newRowScanner() *rowScanner {
	s := new(rowScanner)
	n, t := &s.numbers, &s.texts
	s.dest = []any{&n[0], &n[1], &n[2], t, t, t, t, &n[3]}
	return s
}

func (s *rowScanner) scan(result interface{ Scan(...any) error }) (assigner.Row, error) {
	s.texts.reset()
	if err := result.Scan(s.dest...); err != nil {
		return assigner.Row{}, err
	}
	texts := s.texts.strings()
	return assigner.Row{WorkerID: int64(s.numbers[0]), Version: int64(s.numbers[1]), Fence: int64(s.numbers[2]),
		Token: texts[0], Owner: texts[1], Holder: texts[2], Identity: texts[3],
		Expires: time.UnixMicro(int64(s.numbers[3])).UTC()}, nil
}

// An integer scans a column of integers from any driver.
type integer int64

// Scan implements [sql.Scanner].
func (n *integer) Scan(value any) (err error) {
	var i int64
	switch v := value.(type) {
	case int64:
		i = v
	case []byte:
		i, err = strconv.ParseInt(string(v), 10, 64)
	case string:
		i, err = strconv.ParseInt(v, 10, 64)
	default:
		err = fmt.Errorf("%T for an integer", value)
	}
	*n = integer(i)
	return err
}

// A textBuffer keeps the text columns of one row.
type textBuffer struct {
	bytes []byte
	ends  []int
}

var _ sql.Scanner = (*textBuffer)(nil)

func (b *textBuffer) reset() { b.bytes, b.ends = b.bytes[:0], b.ends[:0] }

// Scan implements [sql.Scanner]. It appends a text.
func (b *textBuffer) Scan(value any) error {
	switch v := value.(type) {
	case []byte:
		b.bytes = append(b.bytes, v...)
	case string:
		b.bytes = append(b.bytes, v...)
	default:
		return fmt.Errorf("%T for a text", value)
	}
	b.ends = append(b.ends, len(b.bytes))
	return nil
}

// strings returns the four texts of the row as parts of one.
func (b *textBuffer) strings() (texts [4]string) {
	all, begin := string(b.bytes), 0
	for i, end := range b.ends {
		texts[i], begin = all[begin:end], end
	}
	return texts
}

// A rowList collects any number of rows without moving them.
type rowList struct {
	full [][]assigner.Row
	last []assigner.Row
}

func (l *rowList) add(r assigner.Row) {
	const most = 4096
	if len(l.last) == most {
		l.full, l.last = append(l.full, l.last), make([]assigner.Row, 0, most)
	}
	l.last = append(l.last, r)
}

// rows returns all rows, or nil when there are none.
func (l *rowList) rows() []assigner.Row { return slices.Concat(append(l.full, l.last)...) }
