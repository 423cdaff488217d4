//go:build !linux

package daemon

import "os/exec"

func setAttributes(*exec.Cmd) {}
