//go:build !kubeapi

package main

import "errors"

func run() error { return errors.New("built without the tag kubeapi") }
