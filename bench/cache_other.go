// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "errors"

// dropCache works on Linux only.
func dropCache(string) error {
	return errors.New("dropping files from the system's cache is not supported on this system")
}
