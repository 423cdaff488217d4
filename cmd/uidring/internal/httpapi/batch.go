package httpapi

import (
	"net/http"
	"strconv"

	"github.com/uidring/uidring"
)

// chunk is the number of bytes of a body in memory at once. A batch also needs 16 bytes per span.
const chunk = 32 << 10

// A batch holds the buffers of a request for IDs. A pool reuses it for later requests.
type batch struct {
	spans []span
	buf   []byte // empty between requests
}

// A span is n consecutive IDs. write formats them while it sends them.
type span struct {
	first int64
	n     int
}

// add adds n consecutive IDs. IDs that follow the last span lengthen it.
func (b *batch) add(first int64, n int) {
	if last := len(b.spans) - 1; last >= 0 && b.spans[last].first+int64(b.spans[last].n) == first {
		b.spans[last].n += n
		return
	}
	b.spans = append(b.spans, span{first, n})
}

func newBatch() *batch { return &batch{buf: make([]byte, 0, chunk)} }

// length returns the number of bytes that write writes.
func (b *batch) length(l format) int {
	n, bytes := 0, 0
	for _, s := range b.spans {
		if l.count != "" {
			n++
			bytes += span{s.first, 1}.width(l.form) + len(l.count) + span{int64(s.n), 1}.width(form{})
			continue
		}
		n += s.n
		bytes += s.width(l.form)
	}
	return len(l.head) + bytes + (n-1)*len(l.between) + len(l.tail)
}

// width returns the number of bytes of the IDs of a span.
func (s span) width(f form) int {
	if f.width > 0 {
		return s.n * f.width
	}
	digits, next := 1, int64(10) // next is the first number with more digits
	for s.first >= next {
		if digits++; digits == 19 { // 10^19 is no int64
			return s.n * digits
		}
		next *= 10
	}
	if short := next - s.first; short < int64(s.n) {
		return int(short)*digits + span{next, s.n - int(short)}.width(f)
	}
	return s.n * digits
}

// write writes the body. It ignores write errors: they mean that the client has disconnected, and
// net/http ends the request.
func (b *batch) write(w http.ResponseWriter, l format) {
	buf := append(b.buf, l.head...)
	between := ""
	for _, s := range b.spans {
		items := s.n
		if l.count != "" {
			items = 1
		}
		for i := range int64(items) {
			if len(buf) > chunk-64 {
				if _, err := w.Write(buf); err != nil {
					return
				}
				buf = buf[:0]
			}
			buf = l.form.append(append(buf, between...), uidring.ID(s.first+i))
			if l.count != "" {
				buf = strconv.AppendInt(append(buf, l.count...), int64(s.n), 10)
			}
			between = l.between
		}
	}
	_, _ = w.Write(append(buf, l.tail...))
}
