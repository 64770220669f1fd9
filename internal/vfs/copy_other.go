// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package vfs

import (
	"errors"
	"os"
)

// copyRange copies nothing on this platform. The caller copies all bytes.
func copyRange(*os.File, File, int64, int64) (done int64) { return 0 }

// share is not available on this platform.
func share(*os.File, File) error { return errors.ErrUnsupported }
