package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"varve.dev/zarr/rewrite"
	"varve.dev/zarr/store"
)

// convertFlags are the flags of varve convert.
type convertFlags struct {
	to             string
	dry, overwrite bool
}

func newConvertCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "convert SRC [DST] --to 2|3",
		Short: "Turn a node and everything below it into the other format version",
		Long: `Turn a node and everything below it into the other format version.

Without DST the nodes are converted where they are, by their documents alone: chunks stay as they are. From format 2 to 3 that is
possible but for structs with fields of both byte orders; from 3 to 2 where all chunks of an array have one length an axis, under keys of
format 2, and codecs that it has. All new documents are there before the first old one goes, and format 3 is read where both stand, so that another convert finishes one that was
stopped. Nobody may change the nodes meanwhile. Where documents of both formats stand beside each other, those of --to 3 win, and the others go.

With DST the nodes are copied there and SRC stays. Chunks are copied as stored where that is possible, and encoded anew elsewhere.

_ARRAY_DIMENSIONS becomes names of dimensions and is made of them; consolidated metadata is made anew where there is some.`,
		Example: `  varve convert old.zarr --to 3 --dry-run
  varve convert era5.zarr era5-v2.zarr --to 2`,
		Args:              arguments("SRC", "[DST]"),
		ValidArgsFunction: completeNode,
	}
	f := new(convertFlags)
	checkedVar(c.Flags(), &f.to, "to", "", "the format `VERSION`: 2|3", oneOf("2", "3"))
	propose(c, "to", "2", "3")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "change nothing, and tell what would be converted how")
	c.Flags().BoolVar(&f.overwrite, "overwrite", false, "remove a node that is at DST first")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case f.to == "":
			return badUsage("--to is missing: 2 or 3")
		case len(args) == 1 && f.overwrite:
			return badUsage("--overwrite goes with DST")
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
	return &rewrite.Options{Options: *reading(cmd), DryRun: f.dry, Overwrite: f.overwrite}
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
	r, err := rewrite.Convert(cmd.Context(), at, f.format(), f.options(cmd))
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
	dst, err := f.destination(ctx, to)
	if err != nil {
		return err
	}
	r, err := rewrite.ConvertTo(ctx, src, dst, f.format(), f.options(cmd))
	err = errors.Join(err, letGo(dst, err == nil))
	if err != nil {
		if !f.dry {
			_ = os.Remove(localPath(to)) // a directory that was made for nothing; whatever is in it stays
		}
		return atLocation(cmd.Name(), from, src, err)
	}
	return f.tell(cmd, from, to, r)
}

// destination is that of a copy.
func (f *convertFlags) destination(ctx context.Context, location string) (rewrite.Place, error) {
	return (&copyFlags{dry: f.dry, overwrite: f.overwrite}).destination(ctx, location)
}

// conversionFacts is what was converted, as programs read it.
type conversionFacts struct {
	Source      string           `json:"source"`
	Destination *string          `json:"destination"` // null where nodes were converted where they are
	To          int              `json:"to"`
	DryRun      bool             `json:"dry_run"`
	Arrays      int              `json:"arrays"`
	Groups      int              `json:"groups"`
	Nodes       []convertedFacts `json:"nodes"`
}

type convertedFacts struct {
	Path string  `json:"path"` // relative to the source
	Kind string  `json:"kind"`
	From int     `json:"from"`
	Anew *string `json:"encoded_anew"` // why chunks are, null where they stay as they are stored
}

func (f *convertFlags) tell(cmd *cobra.Command, from, to string, r rewrite.Conversion) error {
	c := conversionFacts{Source: from, Destination: present(to), To: f.format(), DryRun: f.dry, Nodes: []convertedFacts{}}
	for _, n := range r.Nodes {
		if n.Kind == "array" {
			c.Arrays++
		} else {
			c.Groups++
		}
		c.Nodes = append(c.Nodes, convertedFacts{n.Path, n.Kind, n.From, present(n.Anew)})
	}
	if wantsJSON(cmd) {
		return printJSON(cmd, c)
	}
	return c.print(cmd.OutOrStdout())
}

func (c *conversionFacts) print(w io.Writer) error {
	place, done := c.Source, fmt.Sprintf("are of format %d now", c.To)
	if c.Destination != nil {
		place = *c.Destination
	}
	if c.DryRun {
		done = fmt.Sprintf("to convert to format %d, nothing was changed", c.To)
	}
	already := 0
	for _, n := range c.Nodes {
		if n.From == c.To {
			already++
		}
	}
	if already > 0 {
		done += fmt.Sprintf(", %s already", count(int64(already)))
	}
	if _, err := fmt.Fprintf(w, "%s  %s and %s %s\n", printable(place), plural(int64(c.Arrays), "array"), plural(int64(c.Groups), "group"), done); err != nil {
		return err
	}
	for _, n := range c.Nodes {
		if n.Anew == nil {
			continue
		}
		if _, err := fmt.Fprintf(w, "  encoded anew  %s: %s\n", printable("/"+n.Path), printable(shorten(*n.Anew, 160))); err != nil {
			return err
		}
	}
	return nil
}
