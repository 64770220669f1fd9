// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/dimensions"
	"varve.dev/zarr/cmd/varve/internal/dryrun"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/codec/bytescodec"
	"varve.dev/zarr/codec/vlen"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/npy"
	"varve.dev/zarr/rewrite"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/rehearsal"
	"varve.dev/zarr/store/zipstore"
	"varve.dev/zarr/strictjson"
)

// creation has the values of the flags of create.
type creation struct {
	shape, dtype, chunks, fill string
	shards, index              string
	codecs, compressor, keys   string
	names, attributes, from    string
	grow                       string
	format                     int
	group, overwrite, listed   bool
	yes                        bool
	singleWriter               *bool
	big                        bool // --dtype asks for big-endian bytes
	times                      growth.Times
}

func newCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NODE --shape SHAPE --dtype TYPE, create NODE --from FILE, create NODE --group",
		Short: "Create an array or a group",
		Long: `Create an array or a group.

Missing groups above NODE are created too, below the topmost existing group or the topmost folder whose name ends in
.zarr, which becomes a group. Without either, as for plain/g/t2m, the node is a store of its own, and the folders above
it stay plain folders. varve create plain/g --group makes such a folder a group.

` + chunking.Help + `

` + chunking.ShardsHelp + `

` + missingHelp + `

--overwrite first removes the old node and then writes the new one, so a failure in between leaves neither. Flags and
file are checked before that. On a terminal it asks before it replaces a group with members, or an array by a group;
elsewhere it needs --yes for that. If the values of --from cannot be written, the new array is deleted again.`,
		Example: `  varve create era5.zarr/t2m --shape 1826,36,72 --dtype float32 --chunks '[[365,365,365,366,365],36,72]'
  varve create era5.zarr/precip --shape 1826,36,72 --dtype float32 --chunks calendar:month --start 2019-01-01 --step 1d
  varve create era5.zarr/daily --shape 0,36,72 --dtype float32 --chunks calendar:month --time time --grow calendar:month
  varve create volume.zarr --shape 25000,18000,6000 --dtype uint8 --shards 2048 --chunks 64
  varve create era5.zarr/mask --from mask.npy --dimension-names lat,lon --compressor gzip:5
  varve create names.zarr --shape 100 --dtype string --zarr-format 2
  varve create era5.zarr/soil --group --attributes '{"depth": 4}'`,
		Args: arguments("NODE"),
	}
	c := new(creation)
	f := cmd.Flags()
	argument.ShapeFlag(cmd, &c.shape, "the `LENGTHS` of all axes, such as 60,100; empty for rank 0")
	flagtext.Var(f, &c.dtype, "dtype", "", "data `TYPE`: a name such as int8, float, bfloat16 or string; NumPy's, such as >i4, M8[ns] or U12; or JSON, such as {\"name\": …} or [[\"x\",\"<i4\"], …]", flagtext.Syntax(input.ParseType))
	flagtext.Var(f, &c.chunks, "chunks", "auto", "`CHUNKS`: auto, 8MiB, 10,20, [[10,20,30],25], calendar:month, groups:FILE …: see varve help chunks", flagtext.Syntax(chunking.Parse))
	flagtext.Var(f, &c.shards, "shards", "", "`SHARDS`: auto, 512MiB, 100,200, calendar:month …; a shard is one object that holds many chunks", flagtext.Syntax(chunking.Parse))
	flagtext.Var(f, &c.index, "index-location", "end", "the `END` of a shard where its index is: start or end", flagtext.OneOf("start", "end"))
	flagtext.Var(f, &c.grow, "grow", "append-one", "store the growth `POLICY` of axis 0 with the array, such as calendar:month: see varve help growth", flagtext.Syntax(growth.ParsePolicy))
	c.times.Flags(cmd)
	f.BoolVar(&c.listed, "list-edges", false, "if the chunks of one axis are listed, list those of all axes: for programs that refuse a mixture")
	flagtext.Propose(cmd, "chunks", "auto", "calendar:month", "calendar:year", "groups:")
	flagtext.Propose(cmd, "shards", "auto", "512MiB", "calendar:month", "calendar:year", "groups:")
	flagtext.Propose(cmd, "grow", "append-one", "repeat-last", "fixed:", "pattern:", "preplanned:", "calendar:month", "calendar:year")
	flagtext.Propose(cmd, "index-location", "end", "start")
	f.StringVar(&c.fill, "fill", "", "fill `VALUE` as in metadata: 0, NaN, [0, 1], 2024-05-05, base64 for bytes. The default is zero; in format 2 with dimension names it is null, which means no fill value. The text null needs quotes there")
	flagtext.Var(f, &c.codecs, "codecs", "", "the codec chain as a `JSON` list; with --shards, the chain of inner chunks", flagtext.Syntax(argument.Codecs))
	flagtext.Var(f, &c.compressor, "compressor", "", "the `COMPRESSOR` after the codec bytes: zstd:3, gzip:5 or none; zstd by default", flagtext.Syntax(argument.Compressor))
	flagtext.Var(f, &c.keys, "chunk-key-encoding", "default/", "the `ENCODING` of chunk keys: default/, default., v2. or v2/", flagtext.Syntax(keyEncoding))
	flagtext.Var(f, &c.names, "dimension-names", "", "the `NAMES` of the dimensions, such as time,lat; an empty one leaves an axis without a name", flagtext.Syntax(facts.ParseNames))
	flagtext.Var(f, &c.attributes, "attributes", "", "user attributes as a `JSON` object", flagtext.Syntax(parseAttributes))
	flagtext.Var(f, &c.from, "from", "", "take shape, type and values from a .npy `FILE`", argument.FileName)
	f.IntVar(&c.format, "zarr-format", 0, "`VERSION` of the format: 3 or 2; by default that of the group above")
	f.BoolVar(&c.group, "group", false, "create a group")
	f.BoolVar(&c.overwrite, "overwrite", false, "first remove the existing node and everything below it")
	f.BoolVar(&c.yes, "yes", false, "do not ask before --overwrite removes a group")
	c.singleWriter = growth.SingleWriterFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := c.check(cmd); err != nil {
			return err
		}
		if c.group {
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
	o.SingleWriter = *c.singleWriter
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
	return mayReplace(cmd, location, !c.group, func() error {
		o := c.options(cmd)
		if err := deletable(cmd, location, &o.Options); err != nil {
			return err
		}
		// Without Overwrite, create checks everything else first and then fails, because
		// the node exists. With it, the trial would visit every chunk of a large group.
		o.Overwrite, o.Rehearsal, o.Observer = false, new(rehearsal.Ledger), nil
		if err := create(o); !errors.Is(err, fs.ErrExist) {
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
		return halfRemoved(cmd, location, err)
	}
	if err != nil {
		return err
	}
	if session.WantsJSON(cmd) {
		err = infoGroup(cmd, location, g)
	} else {
		session.Confirm(cmd, "%s  group of format %d", location, g.Format())
	}
	return errors.Join(err, g.Close())
}

func (c *creation) createArray(cmd *cobra.Command, location string) error {
	spec, data, err := c.begin(cmd)
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
		return c.undo(cmd, location, err) // the array exists, but has no values
	}
	if err != nil && c.overwrite {
		return halfRemoved(cmd, location, err)
	}
	if err != nil {
		return err
	}
	if data != nil {
		if err := pourAll(cmd, data, a); err != nil {
			err = failure.On(cmd.Name(), location, err)
			if archive, ok := store.Driver(a.Location().Store()).(*zipstore.Archive); ok {
				return errors.Join(err, archive.Discard())
			}
			defer a.Close()
			return c.undo(cmd, location, err)
		}
	}
	dimensions.Note(cmd, location, a)
	facts.NoteMissing(cmd, location, a)
	noteFolder(cmd, location)
	if session.WantsJSON(cmd) {
		err = infoArray(cmd, location, a, false)
	} else {
		session.Confirm(cmd, "%s  %s  %s  chunks %s", location, a.Type(), phrase.Shape(a.Shape()), phrase.Chunks(a.Grid()))
	}
	return errors.Join(err, a.Close())
}

// undo deletes an array whose values could not be written, even after an interrupt. It
// returns err with a note about the array.
func (c *creation) undo(cmd *cobra.Command, location string, err error) error {
	note := "the new array was deleted again"
	opt := session.Writing(cmd)
	opt.SingleWriter = true // this command has just created the array
	if failed := zarr.Delete(context.WithoutCancel(cmd.Context()), location, opt); failed != nil {
		note = "the new array lacks values and could not be deleted: " + failure.OneLine(failed)
	}
	if c.overwrite {
		note += "; the node that --overwrite replaced was deleted"
	}
	return failure.Leftover(err, "%s", note)
}

// begin returns a specification with shape and type from the flags. With --from it takes
// them from the file, and also opens the values of the file.
func (c *creation) begin(cmd *cobra.Command) (*zarr.Spec, *input.Values, error) {
	if c.from != "" {
		if node.IsLocation(c.from) {
			return nil, nil, failure.BadArgument("--from takes a .npy file: if %s is a Zarr array, varve copy %s NODE copies it", c.from, phrase.Word(c.from))
		}
		v, err := input.Open(cmd, c.from, string(format.NPY), dtype.Type{}, nil)
		if errors.Is(err, npy.ErrInvalid) {
			return nil, nil, fmt.Errorf("%w%s", err, instead(c.from))
		}
		if err != nil {
			return nil, nil, err
		}
		// The array gets the usual byte order, not that of the file.
		return &zarr.Spec{Shape: v.Shape, Type: v.Type}, v, nil
	}
	for _, name := range []string{"shape", "dtype"} {
		if !cmd.Flags().Changed(name) {
			return nil, nil, failure.BadUsage("--%s is missing (or --from FILE.npy, or --group)", name)
		}
	}
	shape, err := argument.ParseShape(c.shape)
	if err != nil {
		return nil, nil, err
	}
	t, err := input.ParseType(c.dtype)
	c.big = t.Big
	return &zarr.Spec{Shape: shape, Type: t.Type}, nil, err
}

// instead returns a hint how the values of a file other than .npy get into a new array.
// Such a file does not tell its shape and type.
func instead(file string) string {
	switch format.Format(strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), ".")) {
	case format.JSON:
		return fmt.Sprintf(": --from takes .npy; create the array with --shape and --dtype, then varve write NODE %s", phrase.Word(file))
	case format.CSV:
		return fmt.Sprintf(": --from takes .npy; %s", input.NPYOfCSV(file))
	}
	return ""
}

// complete sets the fields of a specification for the other flags.
func (c *creation) complete(cmd *cobra.Command, location string, s *zarr.Spec) (err error) {
	s.ListAxes, s.IndexAtStart, s.Format = c.listed, c.index == "start", c.format
	if err := c.cut(cmd, location, s); err != nil {
		return err
	}
	if err := c.fillValue(cmd, s); err != nil {
		return err
	}
	noteYear(cmd, location, s.Type, "--fill", c.fill)
	if s.Codecs, err = c.chain(s.Type); err != nil {
		return err
	}
	if s.KeyEncoding, err = keyEncoding(c.keys); err != nil {
		return err
	}
	if s.DimensionNames, err = facts.ParseNames(c.names); err != nil {
		return failure.BadUsage("--dimension-names: %w", err)
	}
	if s.Attributes, err = c.attributesJSON(); err != nil {
		return err
	}
	return c.storeGrowth(cmd, s)
}

// fillValue adds the fill value to a specification. In format 2 the word null means no
// fill value, and the text null needs quotes. In format 3, which always has a fill value,
// the word null is text, and an error for other types.
func (c *creation) fillValue(cmd *cobra.Command, s *zarr.Spec) error {
	if c.fill == "" && !cmd.Flags().Changed("fill") {
		return nil
	}
	if c.format == 2 && c.fill == "null" {
		s.FillValue = zarr.FillJSON("null")
		return nil
	}
	elem, err := input.ParseGiven(s.Type, c.fill)
	switch {
	case err == nil:
		text, err := s.Type.FormatFill(elem)
		s.FillValue = zarr.FillJSON(string(text))
		return err
	case c.fill == "null":
		return failure.BadUsage("--fill null needs --zarr-format 2: every array of format 3 has a fill value")
	}
	return failure.BadArgument("--fill %s: %w", c.fill, err)
}

// sharded returns the values of --shards and --chunks. Without --shards, Shards has the
// value of --chunks.
func (c *creation) sharded(cmd *cobra.Command) (s chunking.Shards, err error) {
	s.Clips = session.Permitted(cmd).InnerChunks
	if s.Inner, err = chunking.Parse(c.chunks); err != nil {
		return s, failure.BadUsage("--chunks: %w", err)
	}
	if c.shards == "" {
		s.Shards = s.Inner
		return s, nil
	}
	if s.Shards, err = chunking.Parse(c.shards); err != nil {
		return s, failure.BadUsage("--shards: %w", err)
	}
	s.Shards.Flag = "--shards"
	return s, s.Check()
}

// cut sets the chunk grid of a specification and, with --shards, the inner chunks.
func (c *creation) cut(cmd *cobra.Command, location string, spec *zarr.Spec) error {
	s, err := c.sharded(cmd)
	if err != nil {
		return err
	}
	read := func(name string) ([]byte, error) { return localfile.ReadAll(cmd, name) }
	at := chunking.Site{Location: location, Times: &c.times, ReadFile: read, Options: session.GridOptions(cmd)}
	if c.shards == "" {
		if spec.Grid, err = s.Shards.Grid(cmd.Context(), spec.Shape, spec.Type, at); err != nil {
			return err
		}
		return chunking.CheckLimit(cmd, spec)
	}
	spec.Grid, spec.InnerChunks, err = s.Cut(cmd.Context(), spec.Shape, spec.Type, at)
	if err != nil {
		return err
	}
	return chunking.CheckLimit(cmd, spec)
}

// attributesJSON returns the value of --attributes, or nil.
func (c *creation) attributesJSON() (any, error) {
	if c.attributes == "" {
		return nil, nil
	}
	return parseAttributes(c.attributes)
}

// anyDepth permits any nesting. The library then reports a limit that is exceeded,
// instead of the command reporting wrong usage.
var anyDepth = strictjson.Limits{Depth: math.MaxInt}

// parseAttributes reads a JSON object.
func parseAttributes(text string) (json.RawMessage, error) {
	v, err := strictjson.Parse([]byte(text), anyDepth)
	if err == nil && v.Kind() != strictjson.Object {
		err = v.Errorf("it must be an object")
	}
	if name, value, ok := strings.Cut(text, "="); err != nil && ok && !strings.ContainsAny(name, "{\"") {
		err = fmt.Errorf("%w (is {%s: %s} meant?)", err, output.Text(name), output.Text(value))
	}
	return metadata.PlainText(v.Raw()), err
}

// keyEncoding parses a chunk key encoding: a name followed by a separator.
func keyEncoding(text string) (metadata.KeyEncoding, error) {
	for _, e := range []metadata.KeyEncoding{metadata.DefaultSlash, metadata.DefaultDot, metadata.V2Dot, metadata.V2Slash} {
		if text == e.Name()+string(e.Separator()) {
			return e, nil
		}
	}
	return 0, errors.New("only default/, default., v2. and v2/ are known")
}

// chain returns the codecs that --codecs or --compressor ask for, or nil for the default
// of the library.
func (c *creation) chain(t dtype.Type) ([]metadata.Extension, error) {
	switch {
	case c.codecs != "":
		return argument.Codecs(c.codecs)
	case c.compressor != "":
		return c.compressed(t, c.compressor)
	case c.big:
		return c.compressed(t, "zstd:0")
	}
	return nil, nil
}

// storeGrowth adds the policy of --grow to the attributes of a new array. If the policy
// is among --attributes, it checks that the array can follow it.
func (c *creation) storeGrowth(cmd *cobra.Command, s *zarr.Spec) error {
	object, _ := s.Attributes.(json.RawMessage)
	if len(object) == 0 {
		object = json.RawMessage("{}")
	}
	value, there, err := metadata.Attribute(object, rewrite.GrowthAttribute)
	switch given := cmd.Flags().Changed("grow"); {
	case err != nil:
		return err
	case given && there:
		return failure.BadUsage("--grow and the attribute %s exclude each other", rewrite.GrowthAttribute)
	case there:
		return growth.Followable(value)
	case !given:
		return nil
	}
	p, err := growth.ParsePolicy(c.grow)
	if err != nil {
		return failure.BadUsage("--grow %s: %w", c.grow, err)
	}
	if err := growth.GrowsBy(s, p); err != nil {
		return err
	}
	v := growth.Stored{Policy: c.grow}
	if p.Unit != 0 {
		v.Time, v.Start, v.Step, v.Calendar = c.times.Coordinate, c.times.Start, c.times.Step, c.times.Calendar
	}
	if strings.Contains(v.Time, "/") {
		return failure.BadArgument("--time %s: the policy of --grow is stored with the array and needs a coordinate of the same group: give its name", v.Time)
	}
	if value, err = json.Marshal(v); err != nil {
		return err
	}
	raw, err := metadata.SetAttribute(object, rewrite.GrowthAttribute, value)
	s.Attributes = json.RawMessage(raw)
	return err
}

// compressed returns the codec that turns elements into bytes, followed by a compressor:
// zstd:3, gzip:5 or none.
func (c *creation) compressed(t dtype.Type, text string) ([]metadata.Extension, error) {
	compressor, err := argument.Compressor(text)
	if t.Variable() {
		return append([]metadata.Extension{vlen.Extension(t)}, compressor...), err
	}
	order := ""
	switch {
	case t.Ordered() && c.big:
		order = "big"
	case t.Ordered():
		order = "little"
	}
	return append([]metadata.Extension{bytescodec.Extension(order)}, compressor...), err
}
