// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/consolidated"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/internal/consolidation"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

func newConsolidateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "consolidate GROUP",
		Short: "Copy the metadata of all nodes below a group into the group's own document",
		Long: `Copy the metadata of all nodes below a group into the group's own document. A reader then needs a single request
for all of them.

Varve updates the copy whenever it changes a node. Other programs may not, and then the copy is stale. info reports
that, --dry-run shows the differences, and consolidate removes them.`,
		Example: `  varve consolidate era5.zarr
  varve consolidate era5.zarr --dry-run --json`,
		Args:              usage.Arguments("GROUP"),
		ValidArgsFunction: node.Complete,
	}
	dry := c.Flags().Bool("dry-run", false, "change nothing, and print what differs")
	singleWriter := growth.SingleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := node.OutsideRepository(args[0], "has the documents of all nodes in one object already, and no consolidated metadata: varve icechunk export writes it"); err != nil {
			return err
		}
		o := session.Writing(cmd)
		o.Write, o.SingleWriter = !*dry, *singleWriter
		return consolidate(cmd, args[0], *dry, o)
	}
	return c
}

func consolidate(cmd *cobra.Command, location string, dry bool, opt *zarr.Options) error {
	g, err := zarr.OpenGroup(cmd.Context(), location, opt)
	if err != nil {
		return err
	}
	defer g.Close()
	p := progress.NewCount(cmd, "reading nodes", 0)
	// Compare first: afterwards nothing differs.
	d, err := consolidated.FindDrift(cmd.Context(), location, func() { p.Add(1) })
	p.End()
	if err != nil {
		return err
	}
	if !dry {
		// Every node is read twice: once to find it, and once for its stored bytes.
		p = progress.NewTally(cmd, "consolidating", 2*int64(d.Nodes), func(s observe.Stats) int64 { return s.Of(observe.Get).Times })
		err = g.Consolidate(cmd.Context())
		p.End()
		if err != nil && !errors.Is(err, store.ErrUnusable) {
			return err
		}
	}
	return errors.Join(printConsolidated(cmd, d, location, dry), err)
}

// printConsolidated prints the result.
func printConsolidated(cmd *cobra.Command, d *consolidation.Drift, location string, dry bool) error {
	if session.WantsJSON(cmd) && dry {
		return printConsolidation(cmd, d, location)
	}
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, struct {
			Path   string `json:"path"`
			DryRun bool   `json:"dry_run"`
			*consolidation.Drift
		}{location, dry, d})
	}
	return printDrift(cmd.OutOrStdout(), d, location, dry)
}

// printConsolidation prints the plan of a dry run.
func printConsolidation(cmd *cobra.Command, d *consolidation.Drift, location string) error {
	p := struct {
		dryrun.Head
		Path   string `json:"path"`
		DryRun bool   `json:"dry_run"`
		*consolidation.Drift
		dryrun.Counts
	}{
		dryrun.Head{Operation: cmd.Name(), Node: location, Strategy: dryrun.Strategy(cmd), Guarantee: "atomic", Stages: []dryrun.Stage{{Name: "publish", Tasks: 1}}},
		location, true, d,
		dryrun.Counts{
			New: new(int64), Rewritten: new(int64), Copied: new(int64), Dropped: new(int64), Documents: new(int64(1)),
			BytesCopied: new(int64), BytesDecoded: new(int64), BytesEncoded: new(int64), BytesDropped: new(int64),
		},
	}
	var err error
	if p.Fingerprint, err = dryrun.Fingerprint(p); err != nil {
		return err
	}
	return session.PrintJSON(cmd, p)
}

// printDrift prints how the old copy differed from the nodes. If there was no copy, it
// prints only the number of nodes.
func printDrift(w io.Writer, d *consolidation.Drift, location string, dry bool) error {
	done := "the metadata of " + phrase.Plural(int64(d.Nodes), "node") + " is now in the group's document"
	if dry {
		done = phrase.Plural(int64(d.Nodes), "node") + " below the group, nothing was changed"
	}
	// Without an old copy every node is new, which is not worth a list.
	if !d.Consolidated {
		_, err := fmt.Fprintf(w, "%s  %s\n", phrase.Printable(location), done)
		return err
	}
	if _, err := fmt.Fprintf(w, "%s  %s: %s\n", phrase.Printable(location), done, d); err != nil {
		return err
	}
	for _, list := range []struct {
		what  string
		paths []string
	}{{"new", d.New}, {"changed", d.Changed}, {"gone", d.Gone}} {
		for i, path := range list.paths {
			if i == session.MostShown {
				path = fmt.Sprintf("… %s more", phrase.Count(int64(len(list.paths)-i)))
			}
			if _, err := fmt.Fprintf(w, "  %-7s  %s\n", list.what, phrase.Printable(path)); err != nil {
				return err
			}
			if i == session.MostShown {
				break
			}
		}
	}
	return nil
}
