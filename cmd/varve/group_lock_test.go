// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// TestRemovalOfLockedMember removes and replaces a group while one of its arrays is
// locked. Nothing may be removed until the lock is released.
func TestRemovalOfLockedMember(t *testing.T) {
	for _, args := range []string{"rm ROOT --yes", "rm ROOT/g --yes", "create ROOT/g --group --overwrite --yes", "copy ROOT/h ROOT/g --overwrite --yes",
		"copy ROOT/g ROOT/new --move", "copy ROOT ROOT2.zarr --move", "convert ROOT/h ROOT/g --to 3 --overwrite --yes"} {
		t.Run(args, func(t *testing.T) {
			root := aliasGroup(t, nil)
			must(t, "", "consolidate", root)
			line := append(strings.Fields(strings.ReplaceAll(args, "ROOT", root)), "--lock-timeout", "0")
			s, err := filestore.Open(root, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close(s)
			unlock, err := store.Lock(t.Context(), s, store.MustKey("g/sub/a/x").Dir())
			if err != nil {
				t.Fatal(err)
			}
			before := must(t, "", "tree", root)
			if _, errs, status := execute(t, "", line...); status == 0 || !strings.Contains(errs, "g/sub/a is locked by process") {
				t.Errorf("status %d, %s", status, errs)
			}
			if after := must(t, "", "tree", root); after != before {
				t.Errorf("it was\n%s\nand is\n%s", before, after)
			}
			if err := unlock(); err != nil {
				t.Fatal(err)
			}
			if _, errs, status := execute(t, "", line...); status != 0 {
				t.Errorf("afterwards: status %d, %s", status, errs)
			}
			if strings.HasPrefix(args, "rm ROOT ") && node.Exists(root) {
				t.Error("the folder is left")
			}
		})
	}
}
