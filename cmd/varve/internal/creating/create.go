// SPDX-License-Identifier: Apache-2.0

// Package creating has the commands that make nodes, and store what they have: create,
// write and attrs.
package creating

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/inspecting"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/tabular"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/store/zipstore"
)

// creation has the values of the flags of create.
type creation struct {
	shape, dtype, chunks, fill string
	shards, index              string
	codecs, compressor, keys   string
	names, attributes, from    string
	nulls                      string
	grow                       string
	format                     int
	group, overwrite, listed   bool
	yes                        bool
	singleWriter               *bool
	big                        bool // --dtype asks for big-endian bytes
	times                      growth.Times
}

// NewCreate returns the command create.
func NewCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NODE --shape SHAPE --dtype TYPE, create NODE --from FILE, create NODE --group",
		Short: "Create an array or a group",
		Long: `Create an array or a group. Missing groups above NODE are created too.

An array needs a shape and a data type, or a file that has both. Chunks of at most about 1 MiB and
the codec zstd are the defaults. --overwrite first removes the old node; it asks on a terminal, and
needs --yes elsewhere, before it replaces a group with members, or an array by a group.`,
		Example: `  varve create era5.zarr/t2m --shape 1826,36,72 --dtype float32 --chunks '[[365,365,365,366,365],36,72]'
  varve create era5.zarr/precip --shape 1826,36,72 --dtype float32 --chunks calendar:month --start 2019-01-01 --step 1d
  varve create era5.zarr/daily --shape 0,36,72 --dtype float32 --chunks calendar:month --time time --grow calendar:month
  varve create era5.zarr/soil --group --attributes '{"depth": 4}'`,
		Args: usage.Arguments("NODE"),
	}
	c := new(creation)
	f := cmd.Flags()
	argument.ShapeFlag(cmd, &c.shape, "the `LENGTHS` of all axes, such as 60,100; empty for rank 0")
	flagtext.Var(f, &c.dtype, "dtype", "", "data `TYPE`, such as int8, float32, string, >i4 or M8[ns]", flagtext.Syntax(input.ParseType))
	flagtext.Var(f, &c.chunks, "chunks", "auto", "`CHUNKS`: 8MiB, 10,20, calendar:month …", flagtext.Syntax(chunking.Parse))
	flagtext.Var(f, &c.shards, "shards", "", "`SHARDS`: auto, 512MiB, 100,200 …, objects of many chunks", flagtext.Syntax(chunking.Parse))
	flagtext.Var(f, &c.index, "index-location", "end", "the `END` of a shard with its index: start or end", flagtext.OneOf("start", "end"))
	flagtext.Var(f, &c.grow, "grow", "append-one", "the growth `POLICY` stored with the array", flagtext.Syntax(growth.ParsePolicy))
	c.times.Flags(cmd)
	f.BoolVar(&c.listed, "list-edges", false, "list the chunks of all axes, or of none")
	flagtext.Propose(cmd, "chunks", "auto", "calendar:month", "calendar:year", "groups:")
	flagtext.Propose(cmd, "shards", "auto", "512MiB", "calendar:month", "calendar:year", "groups:")
	growth.ProposePolicies(cmd)
	flagtext.Propose(cmd, "index-location", "end", "start")
	f.StringVar(&c.fill, "fill", "", "fill `VALUE` as in metadata: 0, NaN, 2024-05-05 …")
	flagtext.Var(f, &c.codecs, "codecs", "", "the codec chain (of inner chunks) as a `JSON` list", flagtext.Syntax(argument.Codecs))
	flagtext.Var(f, &c.compressor, "compressor", "", "`COMPRESSOR`: zstd:3, zstd:3:nochecksum, gzip:5, auto, none", argument.CheckCompressor)
	flagtext.Var(f, &c.keys, "chunk-key-encoding", "default/", "`ENCODING` of keys: default., v2. or v2/", flagtext.Syntax(argument.KeyEncoding))
	flagtext.Var(f, &c.names, "dimension-names", "", "the `NAMES` of the dimensions, such as time,lat", flagtext.Syntax(facts.ParseNames))
	flagtext.Var(f, &c.attributes, "attributes", "", "user attributes as a `JSON` object", flagtext.Syntax(parseAttributes))
	flagtext.Var(f, &c.from, "from", "", "shape, type and values of a `FILE`: a.npy, day.nc/t, t.parquet", argument.FileName)
	flagtext.Var(f, &c.nulls, "nulls", "", "the `FORM` of nulls of a table: fill, fill:TEXT or mask", func(s string) error {
		_, err := tabular.ParseNulls(s)
		return err
	})
	f.IntVar(&c.format, "zarr-format", 0, "`VERSION` of the format, 3 or 2 (default: as the group above)")
	f.BoolVar(&c.group, "group", false, "create a group")
	f.BoolVar(&c.overwrite, "overwrite", false, "first remove the existing node and everything below it")
	f.BoolVar(&c.yes, "yes", false, "do not ask before --overwrite removes a group")
	c.singleWriter = growth.SingleWriterFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.check(cmd); err != nil {
			return err
		}
		isTable, err := tabular.IsTable(cmd, c.from, "")
		switch {
		case err != nil:
			return err
		case isTable:
			return c.createTable(cmd, args[0])
		case cmd.Flags().Changed("nulls"):
			return failure.BadUsage("--nulls is for tables, as in --from table.parquet")
		case c.group:
			return c.createGroup(cmd, args[0])
		}
		return c.createArray(cmd, args[0])
	}
	return cmd
}

// check returns an error for flags that contradict each other.
func (c *creation) check(cmd *cobra.Command) error {
	for _, pair := range [][2]string{{"codecs", "compressor"}, {"from", "shape"}, {"from", "dtype"}, {"from", "group"}, {"group", "shape"}, {"group", "dtype"}, {"group", "grow"}} {
		if err := flagtext.Exclusive(cmd, pair[:]...); err != nil {
			return err
		}
	}
	if c.shards == "" && cmd.Flags().Changed("index-location") {
		return failure.BadUsage("--index-location needs --shards")
	}
	s, err := c.sharded(cmd)
	if err != nil {
		return err
	}
	unit, flag := s.Shards.Unit(), s.Shards.Flag
	// Without calendar chunks, --grow alone may need times.
	if p, _ := growth.ParsePolicy(c.grow); unit == 0 && p.Unit != 0 {
		unit, flag = p.Unit, "--grow"
	}
	if err := c.times.Check(cmd, unit, flag); err != nil {
		return err
	}
	if given := cmd.Flags().Changed; given("zarr-format") && c.format != 2 && c.format != 3 {
		return failure.BadUsage("--zarr-format %d: only 2 and 3 are known", c.format)
	} else if c.format == 2 && given("chunk-key-encoding") && strings.HasPrefix(c.keys, "default") {
		return failure.BadUsage("--chunk-key-encoding %s is for format 3; format 2 has v2. and v2/", c.keys)
	}
	return nil
}

func (c *creation) options(cmd *cobra.Command) *zarr.CreateOptions {
	o := &zarr.CreateOptions{Options: *session.Writing(cmd), Overwrite: c.overwrite, Format: c.format}
	o.SingleWriter, o.AdaptCodecs = *c.singleWriter, argument.IsAdaptive(c.compressor)
	return o
}

// agreed asks before --overwrite removes anything but an array that another array
// replaces. Before it asks, it tries create without changing the store.
func (c *creation) agreed(cmd *cobra.Command, location string, create func(*zarr.CreateOptions) error) error {
	if c.overwrite {
		dryrun.WouldRemove(cmd, location)
	}
	if !c.overwrite || c.yes || session.IsDryRun(cmd) {
		return nil
	}
	return place.ConfirmReplacement(cmd, location, !c.group, func() error {
		o := c.options(cmd)
		if err := place.CheckDeletable(cmd, location, &o.Options); err != nil {
			return err
		}
		// Without Overwrite, create checks everything else first and then fails, because
		// the node exists. With it, the trial would visit every chunk of a large group.
		o.Overwrite, o.Rehearsal, o.Observer = false, new(rehearsal.Ledger), nil
		err := session.Try(cmd, func() error { return create(o) })
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
}

func (c *creation) createGroup(cmd *cobra.Command, location string) error {
	attributes, err := c.attributesJSON()
	if err != nil {
		return err
	}
	err = c.agreed(cmd, location, func(o *zarr.CreateOptions) error {
		_, err := zarr.CreateGroup(cmd.Context(), location, attributes, o)
		return err
	})
	if err != nil {
		return err
	}
	g, err := zarr.CreateGroup(cmd.Context(), location, attributes, c.options(cmd))
	if err != nil && c.overwrite {
		return place.HalfRemoved(cmd, location, err)
	}
	if err != nil {
		return err
	}
	place.NoteFolder(cmd, location)
	if session.WantsJSON(cmd) {
		err = inspecting.PrintGroup(cmd, location, g)
	} else {
		session.Confirm(cmd, "%s  group of format %d", location, g.Format())
	}
	return errors.Join(err, g.Close())
}

func (c *creation) createArray(cmd *cobra.Command, location string) error {
	spec, data, err := c.begin(cmd, location)
	if err != nil {
		return err
	}
	if data != nil {
		defer data.Close()
	}
	if err := c.complete(cmd, location, spec); err != nil {
		return err
	}
	if data != nil {
		// Read a stream to its end before the array exists, in case it is too short or
		// too long.
		if err := data.Settle(data.Total); err != nil {
			return err
		}
	}
	err = c.agreed(cmd, location, func(o *zarr.CreateOptions) error {
		_, err := zarr.CreateArray(cmd.Context(), location, *spec, o)
		return err
	})
	if err != nil {
		return err
	}
	a, err := zarr.CreateArray(cmd.Context(), location, *spec, c.options(cmd))
	if data != nil && errors.Is(err, zarr.ErrIncomplete) {
		return c.undo(cmd, location, "array", err) // it exists, but has no values
	}
	if err != nil && c.overwrite {
		return place.HalfRemoved(cmd, location, err)
	}
	if err != nil {
		return err
	}
	if data != nil {
		if err := c.fillFrom(cmd, location, a, data); err != nil {
			return err
		}
	}
	c.noteChunks(cmd, location, a)
	dimensions.Note(cmd, location, a)
	facts.NoteMissing(cmd, location, a)
	place.NoteFolder(cmd, location)
	if session.WantsJSON(cmd) {
		err = inspecting.PrintArray(cmd, location, a, false)
	} else {
		session.Confirm(cmd, "%s  %s  %s  %s", location, a.Type(), phrase.Shape(a.Shape()), cmp.Or(c.chosen(a), "chunks "+phrase.Chunks(a.Grid())))
	}
	return errors.Join(err, a.Close())
}

// fillFrom writes the values of --from to a new array. If that fails, it closes the array
// and removes it.
func (c *creation) fillFrom(cmd *cobra.Command, location string, a *zarr.Array, data *input.Values) error {
	err := pourAll(cmd, data, a)
	if err == nil {
		return nil
	}
	return c.discard(cmd, location, a, "array", err)
}

// discard closes and deletes a new node that did not get its elements.
func (c *creation) discard(cmd *cobra.Command, location string, n zarr.Node, kind string, err error) error {
	err = failure.On(cmd.Name(), location, err)
	// An archive cannot delete a node, but it is not published before it is closed.
	if s := n.Location().Store(); archive.IsNew(s) {
		return errors.Join(err, zipstore.Discard(s))
	}
	defer n.Close()
	return c.undo(cmd, location, kind, err)
}

// undo deletes a new array or group that did not get its elements, even after an
// interrupt. It returns err with a note about the node.
func (c *creation) undo(cmd *cobra.Command, location, kind string, err error) error {
	note := "the new " + kind + " was deleted again"
	opt := session.Writing(cmd)
	opt.SingleWriter = true // this command has just created the node
	if failed := zarr.Delete(context.WithoutCancel(cmd.Context()), location, opt); failed != nil {
		note = "the new " + kind + " lacks values and could not be deleted: " + failure.OneLine(failed)
	}
	if c.overwrite {
		note += "; the node that --overwrite replaced was deleted"
	}
	return failure.Leftover(err, "%s", note)
}

// automatic is the value of --chunks and --shards that leaves the choice to the command.
const automatic = "auto"

// noteChunks prints what a new array's chunks were chosen to be, and whether they are
// much longer than the array. At a terminal, the confirmation tells what was chosen.
func (c *creation) noteChunks(cmd *cobra.Command, location string, a *zarr.Array) {
	if text := c.chosen(a); text != "" && !console.IsTerminal(cmd.ErrOrStderr()) {
		session.Note(cmd, location, text)
	}
	// A policy says how the array will grow. Shards do not store inner chunks that have
	// only fill values.
	if a.Inner() != nil || cmd.Flags().Changed("grow") {
		return
	}
	for _, text := range phrase.Padding(a.Grid(), "--overwrite --chunks") {
		session.Note(cmd, location, text)
	}
}

// chosen describes the chunks of a new array if the command has chosen them, such as
// "chunks 500 × 500 (auto), 977 KiB each". It returns "" if one has all elements.
func (c *creation) chosen(a *zarr.Array) string {
	g := a.Grid()
	n, few := g.NumChunks()
	if c.chunks != automatic && c.shards != automatic || few && n < 2 && a.Inner() == nil {
		return ""
	}
	inner := a.Inner()
	if inner == nil {
		return "chunks " + longest(g, a.Type(), c.chunks)
	}
	below, err := inner.Grid()
	if err != nil {
		return "" // shards of another program's form; info tells more
	}
	return "shards " + longest(g, a.Type(), c.shards) + ", of chunks " + longest(below, a.Type(), c.chunks)
}

// longest describes the longest cell of a grid.
func longest(g *grid.Grid, t dtype.Type, given string) string {
	shape := make([]int64, g.Rank())
	for i := range shape {
		a := g.Axis(i)
		shape[i] = a.Longest(grid.Interval{Stop: a.Cells()})
	}
	text := phrase.Shape(shape)
	if given == automatic {
		text += " (auto)"
	}
	if size, ok := checked.Product(append(shape, export.Width(t))...); ok && !t.Variable() {
		text += fmt.Sprintf(", %s each", phrase.Bytes(size))
	}
	return text
}
