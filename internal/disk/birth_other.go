//go:build !linux

package disk

func birth(string) string { return "" }
