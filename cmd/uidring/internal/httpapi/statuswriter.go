package httpapi

import "net/http"

// A statusWriter records the status of a response; 0: nothing is written yet.
type statusWriter struct {
	http.ResponseWriter
	status int
	bytes  int64  // of the body
	token  string // name of the client
}

// WriteHeader records the final status. A status below 200 is informational.
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implies status 200 if there was no WriteHeader.
func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
