// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/regrid"
)

// replacing is the flags of re-gridding under the chunk keys that an array has.
type replacing struct{ inPlace, offline bool }

func (r *replacing) flags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&r.inPlace, "in-place", false, "store only the merged chunks, under the keys that they replace, if only the last chunks are merged: see below")
	f.BoolVar(&r.offline, "offline", false, "replace all chunks under their keys, if the array can have no others: stop its readers and writers first")
}

// inPlaceHelp explains --in-place and --offline.
const inPlaceHelp = `Other keys for all chunks cost a link or a copy of every chunk. Where the last chunks along one axis become one chunk, and
nothing else changes, --in-place stores just that chunk. Programs that opened the array before then report an error at
that chunk, until they open the array again; programs that use Varve go on. The next append stores its chunks under the
keys of the merged ones. After that, a program other than Varve that opened the array before the merge reads wrong
elements there. So let such programs open the array again before the next append, or leave out --in-place. Shards need a
checksum in their index. varve revert cannot go back.

An array of format 2 with one axis has no other keys. With --offline its chunks are replaced all the same: stop all
programs that use it, and start them again afterwards. If the command is stopped, repeat it before that.`

// check returns an error if flags exclude each other.
func (r *replacing) check(args []string, plan string) error {
	name := "--in-place"
	switch {
	case !r.inPlace && !r.offline:
		return nil
	case !r.inPlace:
		name = "--offline"
	}
	if len(args) > 1 {
		return failure.BadUsage("%s replaces chunks of the array, and %s gets a new one: give one of them", name, phrase.Printable(args[1]))
	}
	if plan != "" {
		return failure.BadUsage("one process replaces chunks in place, so varve run cannot share its work: leave out %s or --plan", name)
	}
	return nil
}

// alternative is what --in-place would do, in the form of --json.
type alternative struct {
	Strategy     string `json:"strategy"`
	Guarantee    string `json:"guarantee"`
	Kept         int64  `json:"chunks_kept"`
	Rewritten    int64  `json:"chunks_rewritten"`
	Copied       int64  `json:"chunks_copied"`
	Dropped      int64  `json:"chunks_dropped"`
	BytesCopied  int64  `json:"bytes_copied"`
	BytesDecoded int64  `json:"bytes_decoded"`
}

func alternativeOf(p *regrid.Plan) *alternative {
	if p == nil {
		return nil
	}
	return &alternative{p.Strategy, p.Guarantee, p.Kept, p.Encoded, p.Cloned + p.Arranged, p.Dropped, p.BytesCopied, p.BytesDecoded}
}

// printReplacing prints what a re-gridding in place means for others, or that it is
// possible.
func (d *regridded) printReplacing(w io.Writer) (err error) {
	switch a := d.Alternative; {
	case d.Guarantee == "offline":
		_, err = fmt.Fprintln(w, "  in place: programs that opened the array before must open it again")
	case d.Strategy == "in-place":
		_, err = fmt.Fprintf(w, "  in place: %s kept, %s dropped; other programs than Varve must open the array again before the next append\n",
			phrase.Count(d.plan.Kept), phrase.Count(d.plan.Dropped))
	case a != nil && d.DryRun:
		_, err = fmt.Fprintf(w, "  with --in-place: %s kept, %s put together from encoded chunks, %s encoded anew (%s of elements)\n",
			phrase.Count(a.Kept), phrase.Count(a.Copied), phrase.Count(a.Rewritten), phrase.Bytes(a.BytesDecoded))
	}
	return err
}
