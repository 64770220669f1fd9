// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/spf13/cobra"

func newMaterializeCommand() *cobra.Command {
	c := newCopyCommand()
	c.Use = "materialize SRC DST"
	c.Short = "Copy a virtual array, or a group of them, into a real one"
	c.Long = `Copy a virtual array, or a group of them, into a real one. SRC is in a manifest of varve virtualize, such as
archive.vz/t2m. The bytes of chunks are copied as they are in the foreign files; rechunk SRC DST makes other chunks of
an array on the way.

It is varve copy in all but its name. The documents are stored last, so an interrupted copy is not visible. Another one
to the same place removes what it left.`
	c.Example = `  varve materialize archive.vz archive.zarr
  varve rechunk archive.vz/t t.zarr --chunks 31,4,5`
	for _, name := range append([]string{"move", "sync"}, syncOnly...) {
		c.Flags().Lookup(name).Hidden = true
	}
	c.Flags().Lookup("yes").Usage = "do not ask before --overwrite removes a group"
	return c
}
