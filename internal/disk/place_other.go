//go:build !unix

package disk

import "io/fs"

func place(fs.FileInfo) string { return "" }
