// Package service is the running process of uidring serve: its listener, its generator with the
// worker ID behind it, the files that it reads again when they change, and the order in which all
// that starts and ends.
package service
