// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"fmt"

	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
)

// CheckNames refuses to create nodes with names that are not legal for a new node, or
// that format 3 reserves. Existing nodes with such names are read, because other programs
// write them.
func CheckNames(format int, paths ...store.Path) error {
	for _, p := range paths {
		if p.IsRoot() {
			continue
		}
		if err := nodename.CheckNew(p.Name()); err != nil {
			return fault.Argument("%v: choose another name", err)
		}
		if format == 3 && own.Reserved(p.Name()) {
			return fault.Argument("node name %q begins with \"__\", which is reserved in format 3: choose another name, or format 2", p.Name())
		}
	}
	return nil
}

// NameNotes returns a note on a node whose name its format reserves.
func NameNotes(format int, p store.Path) []string {
	if format == 2 || !own.Reserved(p.Name()) {
		return nil
	}
	return []string{fmt.Sprintf("the name %q begins with \"__\", which format 3 reserves (zarr-python writes such names): "+
		"it is read, copied and converted, and not created", p.Name())}
}
