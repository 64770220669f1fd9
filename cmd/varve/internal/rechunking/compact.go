// SPDX-License-Identifier: Apache-2.0

package rechunking

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/usage"
)

// NewCompact returns the command compact.
func NewCompact() *cobra.Command {
	c := &cobra.Command{
		Use:   "compact NODE --to GOAL | compact NODE --shards",
		Short: "Merge neighbouring chunks, or put the inner chunks of shards in order",
		Long: `With --to, merge neighbouring chunks of an array, or of all arrays below a group, along one axis, or
along several, each with its own --to. Chunks are never split, and a second run changes nothing:
  max:365             merge from the first chunk on, up to 365 elements; longer chunks stay
  64MiB               the same for the bytes of a decoded chunk
  calendar:month      merge the chunks of one month, or calendar:year: see varve help chunks
  align:30            merge until a chunk has a multiple of 30 elements; the rest stays
  [31,28,31]          the lengths of the merged chunks, which must end where chunks end

With --shards, put the inner chunks of every shard in order, and free unused bytes. Elements and
chunks do not change, and nothing is decoded.`,
		Example: `  varve compact era5.zarr/t2m --to max:365 --leave-tail 30
  varve compact era5.zarr --to calendar:month --time time
  varve compact era5.zarr/t2m --axis time --to max:365 --axis lat --to max:36
  varve compact era5.zarr/tp --shards --dry-run --json`,
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	var m merging
	m.flags(c)
	shards := c.Flags().Bool("shards", false, "put the inner chunks of every shard in order, and merge nothing")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case *shards && m.to != nil:
			return failure.BadUsage("--to merges chunks and --shards only orders inner chunks: give one of them")
		case *shards:
			if name := merges(cmd); name != "" {
				return failure.BadUsage("--%s is about merging chunks: --shards only orders inner chunks", name)
			}
			return compactShards(cmd, args[0], m.Dry)
		case m.to == nil:
			return failure.BadUsage("say how far to merge, as in --to max:365, or give --shards to put inner chunks in order")
		}
		return m.merge(cmd, args[0])
	}
	return c
}

// merges returns the name of a flag that was given and does not go with --shards, or "".
func merges(cmd *cobra.Command) string {
	var others merging
	other := &cobra.Command{Use: "others"}
	others.flags(other)
	given := ""
	other.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "dry-run" && cmd.Flags().Changed(f.Name) && given == "" {
			given = f.Name
		}
	})
	return given
}

func compactShards(cmd *cobra.Command, location string, dry bool) error {
	opt := session.Writing(cmd)
	// A dry run also works without permission to write.
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
	// Damaged shards stay as they are and the others are compacted, so there is a report.
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
