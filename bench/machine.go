package main

import (
	"cmp"
	"runtime"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// A machine is what the figures depend on.
type machine struct {
	GoVersion  string `json:"go_version"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	CPU        string `json:"cpu"`
	CPUs       int    `json:"cpus"`
	GOMAXPROCS int    `json:"gomaxprocs"`
}

func thisMachine() machine {
	return machine{
		GoVersion:  runtime.Version(),
		OS:         runtime.GOOS,
		Arch:       runtime.GOARCH,
		CPU:        cmp.Or(strings.Join(strings.Fields(cpuid.CPU.BrandName), " "), "unknown CPU"),
		CPUs:       runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
	}
}
