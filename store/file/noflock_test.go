//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package file_test

import (
	"errors"
	"os"
)

func lockFile(*os.File) error { return errors.ErrUnsupported }
