// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
	c.Flags().Lookup("move").Hidden = true
	c.Flags().Lookup("sync").Hidden = true
	new(syncFlags).needing().VisitAll(func(f *pflag.Flag) { c.Flags().Lookup(f.Name).Hidden = true })
	c.Flags().Lookup("yes").Usage = "do not ask before --overwrite removes a group"
	return c
}
