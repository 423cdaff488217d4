// Command uidring reads, plans and serves unique IDs, and looks after the worker IDs that they are
// made with.
package main

import (
	"os"

	_ "golang.org/x/crypto/x509roots/fallback" // where the system has no file of authorities, as in an image

	"github.com/uidring/uidring/cmd/uidring/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
