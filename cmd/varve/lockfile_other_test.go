// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import (
	"os"
	"testing"
)

// lockFile skips the test: it locks files with flock.
func lockFile(t *testing.T, name string) *os.File {
	t.Helper()
	t.Skip("there is no flock")
	return nil
}
