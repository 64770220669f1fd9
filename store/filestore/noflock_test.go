// SPDX-License-Identifier: Apache-2.0

//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package filestore_test

import (
	"errors"
	"os"
)

func lockFile(*os.File) error { return errors.ErrUnsupported }
