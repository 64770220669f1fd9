// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/rewrite"
	"varve.dev/zarr/store"
)

// convertFlags are the flags of varve convert.
type convertFlags struct {
	to                  string
	dry, overwrite, yes bool
	singleWriter        *bool
}

func newConvertCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "convert SRC [DST] --to 2|3",
		Short: "Turn a node and everything below it into the other format version",
		Long: `Turn a node and everything below it into the other format version.

Without DST the nodes are converted where they are, by their documents alone: chunks stay as they are. From format 2 to 3 that
works for all arrays but structs whose fields have different byte orders. From 3 to 2 it needs chunks of one length along each axis,
chunk keys of format 2, and codecs that format 2 has. All new documents are there before the first old one goes, and format 3 is read where both stand, so that another convert finishes one that was
stopped. Nobody may change the nodes meanwhile. Where documents of both formats stand beside each other, those of --to 3 win, and the others go.

With DST the nodes are copied there and SRC stays. Chunks are copied as stored where that is possible, and encoded anew elsewhere.
Symbolic links out of the store, or to nothing, are left out and counted.

A growth policy that is stored with an array (varve help growth) is removed on the way to format 2 where regular chunks cannot follow it.

The attribute _ARRAY_DIMENSIONS of format 2 and the dimension names of format 3 become each other. Consolidated metadata is
written anew where there is some.

Missing values stay what they are to xarray, which takes the fill value of format 2 for one and in format 3 the attribute _FillValue
only. To 3, the fill value becomes the attribute as well. To 2, the attribute becomes the fill value; without one the fill value
becomes null, and chunks that are missing are stored, full of the old fill value. --dry-run counts them. Above 10,000 chunks or 1 GiB the command asks.`,
		Example: `  varve convert old.zarr --to 3 --dry-run
  varve convert station.zarr station-v2.zarr --to 2`,
		Args:              arguments("SRC", "[DST]"),
		ValidArgsFunction: node.Complete,
	}
	f := new(convertFlags)
	flagtext.Var(c.Flags(), &f.to, "to", "", "the `VERSION` of the format to make: 2 or 3", flagtext.OneOf("2", "3"))
	flagtext.Propose(c, "to", "2", "3")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "change nothing, and tell what would be converted how")
	c.Flags().BoolVar(&f.yes, "yes", false, "store any number of missing chunks, replace a group, and do not ask")
	c.Flags().BoolVar(&f.overwrite, "overwrite", false, "replace what is at DST; a group with members asks, or needs --yes")
	f.singleWriter = growth.SingleWriterFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.to == "":
			return failure.BadUsage("--to is missing: 2 or 3")
		case len(args) == 1 && f.overwrite:
			return failure.BadUsage("--overwrite goes with DST")
		}
		if len(args) == 1 {
			return f.inPlace(cmd, args[0])
		}
		return f.elsewhere(cmd, args[0], args[1])
	}
	return c
}

func (f *convertFlags) format() int { return int(f.to[0] - '0') }

func (f *convertFlags) options(cmd *cobra.Command) *rewrite.Options {
	opt := &rewrite.Options{Options: *session.Reading(cmd), DryRun: f.dry, Overwrite: f.overwrite, FillAll: f.yes}
	opt.SingleWriter = *f.singleWriter
	return opt
}

// permitted runs a conversion, and once more where a person at the terminal permits it to
// store that many missing chunks. Nothing is changed before.
func (f *convertFlags) permitted(cmd *cobra.Command, do func(*rewrite.Options) (rewrite.Conversion, error)) (rewrite.Conversion, error) {
	r, err := do(f.options(cmd))
	if !errors.Is(err, rewrite.ErrManyMissing) || !console.IsTerminal(cmd.InOrStdin()) {
		return r, err
	}
	chunks, size := toFill(r)
	yes, err := asked(cmd, fmt.Sprintf("Store %s that are missing, %s?", phrase.Plural(chunks, "chunk"), phrase.Bytes(size)))
	if err != nil {
		return r, err
	}
	if !yes {
		return r, failure.BadArgument("nothing was converted")
	}
	f.yes = true
	return do(f.options(cmd))
}

// toFill returns how many missing chunks a conversion stores, and their bytes.
func toFill(r rewrite.Conversion) (chunks, size int64) {
	for _, n := range r.Nodes {
		chunks += n.Filled
		size += n.FilledBytes
	}
	return chunks, size
}

func (f *convertFlags) inPlace(cmd *cobra.Command, location string) (err error) {
	access := store.Write
	if f.dry {
		access = store.Read
	}
	at, err := locate(cmd.Context(), location, access)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, letGo(at, true)) }()
	r, err := f.permitted(cmd, func(opt *rewrite.Options) (rewrite.Conversion, error) {
		p := progress.NewCount(cmd, "converting", 0)
		defer p.End()
		opt.Progress = p.Reach
		return rewrite.Convert(cmd.Context(), at, f.format(), opt)
	})
	if errors.Is(err, zarr.ErrIncomplete) {
		err = failure.Leftover(atLocation(cmd.Name(), location, at, err), "documents of both formats stand beside each other: repeat the command, which finishes it")
	}
	if err != nil {
		return atLocation(cmd.Name(), location, at, err)
	}
	return f.tell(cmd, location, "", r)
}

func (f *convertFlags) elsewhere(cmd *cobra.Command, from, to string) (err error) {
	ctx := cmd.Context()
	src, err := locate(ctx, from, store.Read)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, letGo(src, true)) }()
	err = f.copying().agreed(cmd, src, from, to, f.options(cmd), func(dst *zarr.Location, opt *rewrite.Options) error {
		_, err := rewrite.ConvertTo(ctx, src, dst, f.format(), opt)
		return err
	})
	if err != nil {
		return err
	}
	dst, err := f.copying().destination(cmd, to)
	if err != nil {
		return err
	}
	r, err := f.permitted(cmd, func(opt *rewrite.Options) (rewrite.Conversion, error) {
		p := progress.NewEstimate(cmd, "converting", 0, progress.MovedBytes)
		defer p.End()
		defer measureCopy(ctx, p, from, session.Reading(cmd))()
		return rewrite.ConvertTo(ctx, src, dst, f.format(), opt)
	})
	if err != nil {
		return f.copying().stopped(cmd, from, to, src, dst, err)
	}
	if err := letGo(dst, true); err != nil {
		return atLocation(cmd.Name(), from, src, err)
	}
	f.copying().noteDimensions(cmd, from, to)
	noteFolder(cmd, to)
	return f.tell(cmd, from, to, r)
}

// copying returns the flags of a copy to the destination of a conversion.
func (f *convertFlags) copying() *copyFlags {
	return &copyFlags{dry: f.dry, overwrite: f.overwrite, yes: f.yes, singleWriter: f.singleWriter}
}

// conversionFacts is what was converted, as programs read it.
type conversionFacts struct {
	Source      string           `json:"source"`
	Destination *string          `json:"destination"` // null where nodes were converted where they are
	To          int              `json:"to"`
	DryRun      bool             `json:"dry_run"`
	Arrays      int              `json:"arrays"`
	Groups      int              `json:"groups"`
	Filled      int64            `json:"chunks_filled"` // that were missing and are stored
	FilledBytes int64            `json:"bytes_filled"`
	Reserved    int              `json:"reserved_names"` // nodes of format 3 that begin with "__"
	LostLinks   int              `json:"lost_links"`     // symbolic links to what the copy is without
	Nodes       []convertedFacts `json:"nodes"`

	removed []string // nodes that --overwrite would remove, of a dry run
}

type convertedFacts struct {
	Path string  `json:"path"` // relative to the source
	Kind string  `json:"kind"`
	From int     `json:"from"`
	Anew *string `json:"encoded_anew"` // why chunks are, null where they stay as they are stored

	Missing     *string `json:"missing_values"` // what becomes of them, null where nothing has to change
	Lost        bool    `json:"missing_values_lost"`
	Filled      int64   `json:"chunks_filled"`
	FilledBytes int64   `json:"bytes_filled"`
	Refused     bool    `json:"refused_by_xarray"` // for the attribute _FillValue, see missing_values
	Growth      *string `json:"growth"`            // why a stored policy is removed, null where none is
}

func (f *convertFlags) tell(cmd *cobra.Command, from, to string, r rewrite.Conversion) error {
	c := conversionFacts{Source: from, Destination: output.Present(to), To: f.format(), DryRun: f.dry, LostLinks: r.Lost, Nodes: []convertedFacts{}}
	for _, n := range r.Nodes {
		if n.Kind == "array" {
			c.Arrays++
		} else {
			c.Groups++
		}
		if n.Reserved {
			c.Reserved++
		}
		c.Nodes = append(c.Nodes, convertedFacts{n.Path, n.Kind, n.From, output.Present(failure.WithoutPackages(n.Anew)), output.Present(n.Missing), n.Lost, n.Filled, n.FilledBytes, n.Refused, output.Present(n.Growth)})
	}
	c.Filled, c.FilledBytes = toFill(r)
	if to != "" {
		c.removed = f.copying().removed(cmd.Context(), to)
	}
	switch {
	case session.WantsJSON(cmd) && f.dry:
		p, err := c.plan(cmd)
		return errors.Join(err, session.PrintJSON(cmd, p))
	case session.WantsJSON(cmd):
		return session.PrintJSON(cmd, c)
	}
	return c.print(cmd.OutOrStdout())
}

// conversionPlan is what a conversion would do, as programs read it. Of one to another
// place nothing is known of the chunks before they are looked at.
type conversionPlan struct {
	dryrun.Head
	*conversionFacts
	dryrun.Counts
}

// plan returns the plan of the conversion that was looked at.
func (c *conversionFacts) plan(cmd *cobra.Command) (p conversionPlan, err error) {
	nodes := int64(len(c.Nodes))
	p.Head = dryrun.Head{Operation: cmd.Name(), Node: c.Source, Target: c.Destination, Strategy: "copy-publish", Guarantee: dryrun.Guarantee(cmd)}
	p.conversionFacts = c
	p.Stages = dryrun.Stages(dryrun.Stage{Name: "publish", Tasks: nodes})
	if c.Destination == nil {
		p.Strategy, p.Stages = "documents-only", dryrun.Stages(dryrun.Stage{Name: "write", Tasks: c.Filled}, dryrun.Stage{Name: "publish", Tasks: nodes})
		none := new(int64)
		p.Counts = dryrun.Counts{New: &c.Filled, Rewritten: none, Copied: none, Dropped: none, BytesCopied: none, BytesDecoded: none}
	}
	p.Removed = c.removed
	p.Fingerprint, err = dryrun.Fingerprint(p)
	return p, err
}

// done says what became of the nodes, or would become of them.
func (c *conversionFacts) done() string {
	already := int64(0)
	for _, n := range c.Nodes {
		if n.From == c.To {
			already++
		}
	}
	done, before := fmt.Sprintf("are of format %d now", c.To), ", %s already"
	switch {
	case c.Destination != nil && c.DryRun:
		done, before = fmt.Sprintf("to copy in format %d, nothing was changed", c.To), "; the source has %s in it already"
	case c.Destination != nil:
		done, before = fmt.Sprintf("copied in format %d", c.To), "; the source has %s in it already"
	case c.DryRun:
		done = fmt.Sprintf("to convert to format %d, nothing was changed", c.To)
	}
	if already > 0 {
		done += fmt.Sprintf(before, phrase.Count(already))
	}
	return done
}

func (c *conversionFacts) print(w io.Writer) error {
	place := c.Source
	if c.Destination != nil {
		place = *c.Destination
	}
	if _, err := fmt.Fprintf(w, "%s  %s and %s %s\n", phrase.Printable(place), phrase.Plural(int64(c.Arrays), "array"), phrase.Plural(int64(c.Groups), "group"), c.done()); err != nil {
		return err
	}
	if err := printRemoved(w, c.removed); err != nil {
		return err
	}
	for _, n := range c.Nodes {
		if n.Anew != nil {
			if _, err := fmt.Fprintf(w, "  encoded anew  %s: %s\n", phrase.Printable("/"+n.Path), phrase.Printable(phrase.Shorten(*n.Anew, 160))); err != nil {
				return err
			}
		}
		if n.Growth != nil {
			if _, err := fmt.Fprintf(w, "  growth        %s: %s\n", phrase.Printable("/"+n.Path), phrase.Printable(*n.Growth)); err != nil {
				return err
			}
		}
	}
	return errors.Join(c.printMissing(w), noteLost(w, c.LostLinks), noteReserved(w, c.Reserved))
}

// printMissing says what becomes of missing values: of every array in a dry run, else
// where they are lost or xarray reads no more of the group.
func (c *conversionFacts) printMissing(w io.Writer) error {
	for _, n := range c.Nodes {
		if n.Missing == nil || !c.DryRun && !n.Lost && !n.Refused {
			continue
		}
		text := *n.Missing
		if n.Filled > 0 {
			text += fmt.Sprintf("; %s to store, %s", phrase.Plural(n.Filled, "missing chunk"), phrase.Bytes(n.FilledBytes))
		}
		if _, err := fmt.Fprintf(w, "  missing values  %s: %s\n", phrase.Printable("/"+n.Path), phrase.Printable(text)); err != nil {
			return err
		}
	}
	if c.Filled == 0 {
		return nil
	}
	done := "stored"
	if c.DryRun {
		done = "to store"
	}
	_, err := fmt.Fprintf(w, "  missing chunks  %s, %s: %s\n", phrase.Count(c.Filled), phrase.Bytes(c.FilledBytes), done)
	return err
}
