// SPDX-License-Identifier: Apache-2.0

//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package vfs

import (
	"errors"
	"os"
)

// openLock fails: this platform has no locks that the end of a process releases.
func (r *Root) openLock(string) (*os.File, bool, error) { return nil, false, errors.ErrUnsupported }

func lock(*os.File) error { return errors.ErrUnsupported }
