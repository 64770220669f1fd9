// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package main

import "errors"

// dropCache works on Linux only.
func dropCache(string) error {
	return errors.New("this system does not tell how to drop files from its cache")
}
