//go:build !linux

package service

import "os/exec"

func setAttributes(*exec.Cmd) {}
