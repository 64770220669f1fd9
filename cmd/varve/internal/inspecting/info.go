// SPDX-License-Identifier: Apache-2.0

// Package inspecting has the commands that show nodes and elements: info, tree, ls, cat
// and export.
package inspecting

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// NewInfo returns the command info.
func NewInfo() *cobra.Command {
	c := &cobra.Command{
		Use:   "info NODE",
		Short: "Print what a node is: shape, type, chunks, codecs and attributes",
		Long: `Print what a node is: shape, type, chunks, codecs and attributes.

Of an array that cannot be decoded, what is known of its document is described; then the status is 1, and the message
names the unknown part. Notes at the end report problems, such as stale consolidated metadata.`,
		Example: `  varve info era5.zarr/t2m
  varve info --stats --json era5.zarr/t2m
  varve info --stac era5.zarr`,
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	stats := c.Flags().Bool("stats", false, "also count the stored chunks and their bytes, and what varve vacuum would free, and show the statistics that varve stats keeps")
	item := c.Flags().Bool("stac", false, "print an item of STAC that describes a group and its arrays, as JSON")
	at := c.Flags().String("datetime", "", "with --stac, the `TIME` of a group that does not say it, such as 2024-05-31T12:00:00Z")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *item:
			if err := flagtext.Exclusive(cmd, "stac", "stats"); err != nil {
				return err
			}
			return printItem(cmd, args[0], *at)
		case *at != "":
			return failure.BadUsage("--datetime is the time of an item of STAC: it needs --stac")
		}
		return info(cmd, args[0], *stats)
	}
	return c
}

func info(cmd *cobra.Command, location string, stats bool) error {
	n, err := node.Open(cmd, location)
	if err != nil {
		return infoUndecodable(cmd, location, err, stats)
	}
	defer n.Close()
	switch n := n.(type) {
	case *zarr.Array:
		return PrintArray(cmd, location, n, stats)
	case *zarr.Group:
		return PrintGroup(cmd, location, n)
	}
	return nil
}

// PrintArray prints what an array is.
func PrintArray(cmd *cobra.Command, location string, a *zarr.Array, stats bool) error {
	f := facts.Describe(location, a.Metadata())
	f.Notes = append(f.Notes, a.Notes()...)
	ctx := cmd.Context()
	var unmasked error
	var both, undecoded, grids, copies []string
	// None of these needs the result of another. In a far store each takes a round trip,
	// and together they take one.
	together(
		func() { both = shadowed(ctx, a) },
		func() { f.Pending = facts.PendingAt(ctx, a) },
		func() { f.Filled, unmasked = cf.MasksFill(ctx, a) },
		func() { f.Times = source.EndsOfTime(ctx, a) },
		func() { grids = rechunks(ctx, a, stats) },
		func() {
			switch f.Readers = facts.ReadersOf(ctx, a); {
			case node.IsInManifest(ctx, location):
				f.Readers = facts.OnlyVarve()
			case node.IsForeign(location):
				f.Readers = facts.ReadersOfFile()
			}
		},
		func() { copies = consolidated.OlderCopies(ctx, location, a) },
	)
	if unmasked != nil {
		f.Notes = append(f.Notes, "whether the fill value is a missing value is not known: "+failure.OneLine(unmasked))
	}
	if f.Notes = append(f.Notes, both...); f.Pending != nil {
		f.Notes = append(f.Notes, f.Pending.Text())
	}
	// Tell why info shows no dates for a coordinate of times.
	if err := source.UndecodedTimes(a, cf.UnitsOf(a)); err != nil {
		undecoded = []string{"its times are left as numbers: " + failure.OneLine(err)}
	}
	f.Notes = append(f.Notes, slices.Concat(undecoded, grids, copies)...) // [] in JSON if empty
	f.AddGrid(a.Grid())
	f.AddInner(a)
	f.AddGuard(a)
	// create prints the new array by this function, and may have made remarks.
	f.Notes = append(f.Notes, session.TakeRemarks(cmd)...)
	f.AddSize(a.Type())
	if stats {
		if err := f.AddStored(cmd, a); err != nil {
			return err
		}
	}
	return f.Print(cmd)
}

// together calls functions at the same time, and waits for all.
func together(calls ...func()) {
	var wg sync.WaitGroup
	for _, call := range calls[1:] {
		wg.Go(call)
	}
	calls[0]()
	wg.Wait()
}

// rechunks returns notes about what rechunks have left. With stats, the bytes are
// listed already.
func rechunks(ctx context.Context, a *zarr.Array, stats bool) (notes []string) {
	i, err := rechunk.Inspect(ctx, a)
	if err != nil {
		return []string{"the records of rechunks cannot be read: " + failure.OneLine(err)}
	}
	if i.Superseded > 0 && !stats {
		notes = append(notes, "the chunks before the last rechunk are stored, too: varve vacuum deletes them after a day, and info --stats counts them")
	}
	if i.Unfinished != "" {
		notes = append(notes, "a rechunk is not finished: "+i.Unfinished+"; if that has ended, the same command finishes it, and another one gives it up")
	}
	if i.Replaced != nil {
		notes = append(notes, i.Replaced.Message+" (varve check)")
	}
	return notes
}

// infoUndecodable describes an array that cannot be opened, if its document can be
// read, and returns reason.
func infoUndecodable(cmd *cobra.Command, location string, reason error, stats bool) error {
	if !consolidated.Undecodable(reason) {
		return reason
	}
	doc := facts.ReadDocument(cmd.Context(), location, session.Permitted(cmd))
	if doc == nil {
		return reason
	}
	f := facts.Describe(location, doc.Array)
	f.AddDocument(doc)
	var err error
	if stats {
		err = f.CountDocument(cmd, doc)
	}
	return errors.Join(err, f.Print(cmd), reason)
}

// shadowed returns a note if a node has documents of both formats. Those of format 2 are
// then not read.
func shadowed(ctx context.Context, n zarr.Node) []string {
	p, err := store.ParsePath(n.Path())
	if err != nil || n.Format() == 2 {
		return nil
	}
	names, err := tree.Shadowed(ctx, n.Location().Store(), p)
	if err != nil || len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("documents of both formats exist: zarr.json was read, and %s was not", strings.Join(names, " and "))}
}
