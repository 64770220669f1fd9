// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
)

func newCompactCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "compact NODE --shards",
		Short: "Put the inner chunks of every shard in order, and free unused bytes",
		Long: `Put the inner chunks of every shard in order, and free unused bytes. Elements and chunks do not change, and nothing
is decoded. A shard that is already in order is not rewritten.

Every shard is replaced in one step, so concurrent readers and writers are not disturbed, and stopping the command
leaves no shard half written. A damaged shard is not changed; it is reported after the others are done. A shard is
damaged if its index points outside of it, gives an inner chunk a length that its codecs cannot produce, or gives the
same bytes to several inner chunks. Only varve check finds damage inside of inner chunks.`,
		Example: `  varve compact era5.zarr/tp --shards
  varve compact era5.zarr/tp --shards --dry-run --json`,
		Args:              arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	shards := c.Flags().Bool("shards", false, "compact within shards; merging chunks is not implemented yet")
	dry := c.Flags().Bool("dry-run", false, "change nothing, and print what would change")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !*shards {
			return failure.Unsupported("merging chunks is not implemented yet; --shards compacts within shards")
		}
		return compactShards(cmd, args[0], *dry)
	}
	return c
}

func compactShards(cmd *cobra.Command, location string, dry bool) error {
	opt := session.Writing(cmd)
	opt.Write = !dry
	a, err := zarr.OpenArray(cmd.Context(), location, opt)
	if err != nil {
		return err
	}
	defer a.Close()
	shards, _ := a.Grid().NumChunks()
	p := progress.NewCount(cmd, "shards", shards)
	report, err := a.CompactShards(cmd.Context(), &zarr.CompactOptions{DryRun: dry, Progress: func([]int64) { p.Add(1) }})
	p.End()
	if err != nil && !errors.Is(err, zarr.ErrCorrupt) {
		return err
	}
	return errors.Join(printCompacted(cmd, location, dry, report), err)
}

// compacted is the result of the command, in the form of --json.
type compacted struct {
	Path    string `json:"path"`
	DryRun  bool   `json:"dry_run"`
	Shards  int64  `json:"shards"`
	Changed int64  `json:"changed"`
	Before  int64  `json:"bytes_before"`
	After   int64  `json:"bytes_after"`
}

// printPlan prints the plan of a dry run. Inner chunks are moved without decoding them.
func (c compacted) printPlan(cmd *cobra.Command) error {
	p := struct {
		dryrun.Head
		compacted
		dryrun.Counts
	}{
		dryrun.Head{Operation: cmd.Name(), Node: c.Path, Strategy: "replace-in-place", Guarantee: "atomic", Stages: dryrun.Stages(dryrun.Stage{Name: "write", Tasks: c.Changed})},
		c,
		dryrun.Counts{
			Kept: new(c.Shards - c.Changed), New: new(int64), Rewritten: &c.Changed, Copied: new(int64), Dropped: new(int64),
			Documents: new(int64), BytesCopied: new(int64), BytesDecoded: new(int64), BytesEncoded: new(int64), BytesDropped: new(int64),
		},
	}
	var err error
	if p.Fingerprint, err = dryrun.Fingerprint(p); err != nil {
		return err
	}
	return session.PrintJSON(cmd, p)
}

// printCompacted prints the result.
func printCompacted(cmd *cobra.Command, location string, dry bool, r zarr.CompactReport) error {
	facts := compacted{location, dry, r.Shards, r.Changed, r.Before, r.After}
	switch {
	case session.WantsJSON(cmd) && dry:
		return facts.printPlan(cmd)
	case session.WantsJSON(cmd):
		return session.PrintJSON(cmd, facts)
	}
	done := "put in order"
	if dry {
		done = "to put in order, nothing was changed"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %s, %s %s: %s → %s\n",
		phrase.Printable(location), phrase.Plural(r.Shards, "shard"), phrase.Count(r.Changed), done, phrase.Bytes(r.Before), phrase.Bytes(r.After))
	return err
}
