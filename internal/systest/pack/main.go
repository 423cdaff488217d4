// Command pack makes the parts of a release for which .ci/dist has no other program:
//
//	pack sbom PROGRAM            # prints the modules of a Go program, as a bill of materials
//	pack image PROGRAMS FOLDER   # writes an OCI image of PROGRAMS/ARCHITECTURE/uidring
//
// The variable SOURCE_DATE_EPOCH, in seconds since 1970, is the time of all files and records:
// equal programs have equal results.
package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

const usage = "usage: pack sbom PROGRAM | pack image PROGRAMS FOLDER"

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH %q, allowed: seconds since 1970", epoch)
	}
	created := time.Unix(seconds, 0).UTC()
	switch {
	case len(args) == 2 && args[0] == "sbom":
		return sbom(args[1], created, out)
	case len(args) == 3 && args[0] == "image":
		return image(args[1], args[2], created)
	}
	return fmt.Errorf("arguments %q; %s", args, usage)
}
