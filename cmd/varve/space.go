// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/rechunk"
)

// spaceOf adds the space that several plans take in one store.
func spaceOf(plans ...*rechunk.Plan) (all rechunk.Space) {
	for _, p := range plans {
		all.Least, all.Likely, all.Free = all.Least+p.Space.Least, all.Likely+p.Space.Likely, p.Space.Free
	}
	return all
}

// warnOfSpace tells if a store has probably too little room. The library refuses what
// certainly does not fit.
func warnOfSpace(cmd *cobra.Command, location string, s rechunk.Space) {
	if s.Free < 0 || s.Likely <= s.Free {
		return
	}
	session.Note(cmd, location, fmt.Sprintf("about %s are needed, and only %s are free: varve vacuum may free some", phrase.Bytes(s.Likely), phrase.Bytes(s.Free)))
}

// printSpace prints what a plan takes.
func printSpace(w io.Writer, s rechunk.Space) (err error) {
	switch {
	case s.Free >= 0:
		_, err = fmt.Fprintf(w, "  about %s to store, %s free\n", phrase.Bytes(s.Likely), phrase.Bytes(s.Free))
	default:
		_, err = fmt.Fprintf(w, "  about %s to store\n", phrase.Bytes(s.Likely))
	}
	return err
}
