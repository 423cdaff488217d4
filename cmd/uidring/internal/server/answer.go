package server

import "net/http"

// An answer records the status of a response; 0: nothing is written yet.
type answer struct {
	http.ResponseWriter
	status int
}

// WriteHeader records the final status. A status below 200 is informational.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implies status 200 if there was no WriteHeader.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
