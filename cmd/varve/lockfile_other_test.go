// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package main

import (
	"os"
	"testing"
)

// lockFile skips the test, because this system has no flock.
func lockFile(t *testing.T, name string) *os.File {
	t.Helper()
	t.Skip("no flock here")
	return nil
}
