// Package testserver starts private servers for tests: databases, stores of keys and values, and
// the Kubernetes API.
//
// Every server keeps its data in its own temporary folder, and listens on a free loopback port. It
// stops at the end of the test that started it; on Linux it does not outlive the test process. The
// package neither starts nor touches system services, and reads no settings of the machine.
//
// If the program of a server is not installed, the test is skipped with a line that begins with
// "testserver: missing:", so that a run can list the skipped tests. With CI=true in the environment
// the test fails instead: a skip would look like a success there.
package testserver
