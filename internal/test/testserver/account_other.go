//go:build !linux

package testserver

import "os/exec"

// runAs does nothing: elsewhere servers run as the user of the test.
func runAs(*exec.Cmd, *account) {}
