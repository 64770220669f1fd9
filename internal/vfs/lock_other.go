// SPDX-License-Identifier: Apache-2.0

//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package vfs

import (
	"errors"
	"os"
)

// openLock fails: the platform has no locks that end with the process.
func (r *Root) openLock(string) (*os.File, bool, error) { return nil, false, errors.ErrUnsupported }

func lock(*os.File) error { return errors.ErrUnsupported }
