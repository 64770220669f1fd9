// SPDX-License-Identifier: Apache-2.0

package zipstore

import "varve.dev/zarr/internal/vfs"

// On begins an archive in fsys. Ending the archive closes fsys.
func On(fsys vfs.FS, name string) (*Archive, error) {
	return begin(&Archive{fs: fsys, name: name})
}
