// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package vfs

import "runtime"

// Stat implements [File].
func (f osFile) Stat() (Stat, error) {
	fi, err := f.File.Stat()
	if err != nil {
		return Stat{}, err
	}
	return StatOf(fi), nil
}

// Sync implements [File]. Windows has no sync of directories.
func (f osFile) Sync() error {
	if runtime.GOOS == "windows" {
		if fi, err := f.File.Stat(); err == nil && fi.IsDir() {
			return nil
		}
	}
	return f.File.Sync()
}
