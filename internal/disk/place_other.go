//go:build !unix

package disk

import "io/fs"

func place(fs.FileInfo) string { return "" }

func links(fs.FileInfo) uint64 { return 1 }
