// SPDX-License-Identifier: Apache-2.0

// Package diskstore lets tests of this module open a file store on any file system of
// package vfs, such as a disk in memory or one that fails.
package diskstore

import (
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Open returns a store of filestore of the files of fsys. Closing the store closes fsys.
// Package filestore sets Open when it is initialized.
var Open func(fsys vfs.FS, readOnly bool) store.Store
