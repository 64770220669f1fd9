// SPDX-License-Identifier: Apache-2.0

package creating

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/argument"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/facts"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/growth"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// begin returns a specification with shape and type from the flags. With --from it takes
// them from the file, and also opens the values of the file.
func (c *creation) begin(cmd *cobra.Command, location string) (*zarr.Spec, *input.Values, error) {
	if c.from != "" {
		name := string(export.NPY)
		if node.IsVirtual(c.from) {
			name = "" // what is there decides
		} else if node.IsInManifest(cmd.Context(), c.from) {
			return nil, nil, failure.BadArgument("--from takes one array, such as %[1]s/NAME; varve materialize %[1]s %[2]s makes Zarr arrays of all", phrase.Word(c.from), phrase.Word(location))
		} else if node.IsLocation(c.from) {
			return nil, nil, failure.BadArgument("--from takes a .npy file, or an array of another format: if %s is a Zarr array, varve copy %s NODE copies it", c.from, phrase.Word(c.from))
		}
		v, err := input.Open(cmd, c.from, name, dtype.Type{}, nil)
		if errors.Is(err, npy.ErrInvalid) {
			return nil, nil, notNPY(c.from, err)
		}
		if err != nil {
			return nil, nil, err
		}
		// The array gets the usual byte order, not that of the file.
		spec := &zarr.Spec{Shape: v.Shape, Type: v.Type}
		if a := v.Array(); a != nil { // its numbers mean nothing without the attributes
			spec.DimensionNames, spec.Attributes, spec.FillValue = a.DimensionNames(), json.RawMessage(a.Attributes()), a.FillValue()
		}
		return spec, v, nil
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
	// A type has no byte order. The codec bytes will get it.
	c.big = t.Big
	return &zarr.Spec{Shape: shape, Type: t.Type}, nil, err
}

// notNPY returns the error for a file of --from that is no .npy file, or a damaged one:
// what --from takes, and how other values get into a new array. Files of other formats do
// not tell their shape and type.
func notNPY(file string, err error) error {
	const takes = "--from takes a .npy file, or an array of another format such as month.nc/t2m"
	if strings.HasSuffix(err.Error(), ")") { // it says what the file is
		return fmt.Errorf("%w; %s", err, takes)
	}
	switch ext := strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), "."); export.Format(ext) {
	case export.NPY, "":
		return fmt.Errorf("%w; %s", err, takes) // it may be a damaged one
	case export.JSON:
		return failure.BadArgument("%s is no .npy file; %s; create the array with --shape and --dtype, then varve write NODE %s", file, takes, phrase.Word(file))
	case export.CSV:
		return failure.BadArgument("%s is no .npy file; %s; %s", file, takes, input.NPYOfCSV(file))
	}
	return failure.BadArgument("%s is no .npy file; %s; other values: create the array with --shape and --dtype, then varve write NODE %s --format json (or raw)",
		file, takes, phrase.Word(file))
}

// complete sets the fields of a specification for the other flags.
func (c *creation) complete(cmd *cobra.Command, location string, s *zarr.Spec) (err error) {
	s.ListAxes, s.IndexAtStart, s.Format = c.listed, c.index == "start", c.format
	if s.DimensionNames == nil || c.names != "" {
		if s.DimensionNames, err = facts.ParseNames(c.names); err != nil {
			return failure.BadUsage("--dimension-names: %w", err)
		}
	}
	if err := c.cut(cmd, location, s); err != nil {
		return err
	}
	if err := c.fillValue(cmd, s); err != nil {
		return err
	}
	input.NoteReading(cmd, location, s.Type, "--fill", c.fill)
	if s.Codecs, err = c.chain(s.Type); err != nil {
		return err
	}
	if s.KeyEncoding, err = argument.KeyEncoding(c.keys); err != nil {
		return err
	}
	if s.Attributes == nil || c.attributes != "" {
		if s.Attributes, err = c.attributesJSON(); err != nil {
			return err
		}
	}
	return c.storeGrowth(cmd, location, s)
}

// fillValue adds the fill value to a specification. In format 2 the word null means no
// fill value, and the text null needs quotes. In format 3, which always has a fill value,
// the word null is text, might be bytes, and is an error for other types.
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
	case c.fill == "null" && !input.IsBareWord(s.Type, c.fill):
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
	at := chunking.Site{Location: location, Names: spec.DimensionNames, Times: &c.times, ReadFile: read, Options: session.GridOptions(cmd)}
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
	// units=K is the form of other programs.
	if name, value, ok := strings.Cut(text, "="); err != nil && ok && !strings.ContainsAny(name, "{\"") {
		err = fmt.Errorf("%w (did you mean {%s: %s}?)", err, output.Text(name), output.Text(value))
	}
	return nonfinite.Text(v.Raw()), err
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
		// The compressor is the default of the library. Only the byte order differs.
		return c.compressed(t, "zstd:0")
	}
	return nil, nil
}

// storeGrowth adds the policy of --grow to the attributes of a new array. If the policy
// is among --attributes, it checks that the array can follow it.
func (c *creation) storeGrowth(cmd *cobra.Command, location string, s *zarr.Spec) error {
	object, _ := s.Attributes.(json.RawMessage)
	if len(object) == 0 {
		object = json.RawMessage("{}")
	}
	value, there, err := metadata.Attribute(object, own.Growth)
	switch given := cmd.Flags().Changed("grow"); {
	case err != nil:
		return err
	case given && there:
		return failure.BadUsage("--grow and the attribute %s exclude each other", own.Growth)
	case there:
		return growth.Followable(value)
	case !given:
		return nil
	}
	p, err := growth.ParsePolicy(c.grow)
	if err != nil {
		return failure.BadUsage("--grow %s: %w", c.grow, err)
	}
	v := growth.Stored{Policy: c.grow}
	axis := 0
	if p.Unit != 0 {
		if axis, err = c.times.Axis(cmd.Context(), location, s.DimensionNames); err != nil {
			return err
		}
		if axis < 0 {
			return c.times.NoDimension(s.DimensionNames)
		}
		if axis > 0 {
			v.Axis = output.Text(s.DimensionNames[axis])
		}
		v.Time, v.Start, v.Step, v.Calendar = c.times.Coordinate, c.times.Start, c.times.Step, c.times.Calendar
	}
	if err := growth.GrowsBy(s, p, axis); err != nil {
		return err
	}
	// A stored location would be wrong after the store was moved or copied.
	if strings.Contains(v.Time, "/") {
		return failure.BadArgument("--time %s: the policy of --grow is stored with the array and needs a coordinate of the same group: give its name", v.Time)
	}
	if value, err = json.Marshal(v); err != nil {
		return err
	}
	raw, err := metadata.SetAttribute(object, own.Growth, value)
	s.Attributes = json.RawMessage(raw)
	return err
}

// compressed returns the codec that turns elements into bytes, followed by a compressor:
// zstd:3, gzip:5, auto or none.
func (c *creation) compressed(t dtype.Type, text string) ([]metadata.Extension, error) {
	compressor, err := argument.Compressor(text, t)
	// Text and bytes have their own codec in place of bytes.
	if t.Variable() {
		return append([]metadata.Extension{codec.VariableLength(t)}, compressor...), err
	}
	order := ""
	switch {
	case t.Ordered() && c.big:
		order = "big"
	case t.Ordered():
		order = "little"
	}
	return append([]metadata.Extension{codec.Bytes(order)}, compressor...), err
}
