package server

import "net/http"

// An answer remembers the status of what was written; 0: nothing was.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader passes the status on. One below 200 is not the answer yet.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write is the first sign of a 200 where nothing else was said.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
