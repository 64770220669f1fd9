package main

import (
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// creation is what the flags of create say.
type creation struct {
	shape, dtype, chunks, fill string
	codecs, compressor, keys   string
	names, attributes, from    string
	format                     int
	group, overwrite           bool
}

func newCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NODE --shape SHAPE --dtype TYPE",
		Short: "Create an array or a group",
		Long: `Create an array or a group.

Groups above it that are missing are created, too. --chunks is auto or JSON: 10 for every axis, [10,20], or lists of edges
and runs [length, count] for axes that are cut unevenly: [[10,20,30],25], [[[25,4],10],[50,50]].`,
		Example: `  varve create era5.zarr/t2m --shape 1826,36,72 --dtype float32 --chunks '[[365,365,365,366,365],36,72]'
  varve create era5.zarr/mask --from mask.npy --compressor gzip:5
  varve create era5.zarr/soil --group --attributes '{"depth": 4}'`,
		Args: arguments("NODE"),
	}
	c := new(creation)
	f := cmd.Flags()
	f.StringVar(&c.shape, "shape", "", "length of every axis, `60,100`; empty for rank 0")
	f.StringVar(&c.dtype, "dtype", "", "data `TYPE`: bool, int8 … uint64, float16 … float64, complex64, complex128, r24")
	f.StringVar(&c.chunks, "chunks", "auto", "`CHUNKS`: auto, or JSON as 10, [10,20] or [[10,20,30],25]")
	f.StringVar(&c.fill, "fill", "", "fill `VALUE`, as 0, NaN or [0, 1]; zero by default")
	f.StringVar(&c.codecs, "codecs", "", "the chain of codecs as `JSON` list")
	f.StringVar(&c.compressor, "compressor", "", "`zstd:3|gzip:5|none` behind the codec bytes; zstd by default")
	f.StringVar(&c.keys, "chunk-key-encoding", "default/", "`default/|default.|v2.|v2/`")
	f.StringVar(&c.names, "dimension-names", "", "`t,x`; an empty name is none")
	f.StringVar(&c.attributes, "attributes", "", "user attributes as `JSON` object")
	f.StringVar(&c.from, "from", "", "take shape, type and values from `FILE.npy`")
	f.IntVar(&c.format, "zarr-format", 3, "`VERSION` of the format: 3")
	f.BoolVar(&c.group, "group", false, "create a group")
	f.BoolVar(&c.overwrite, "overwrite", false, "remove what is there first, with everything below it")
	notYet(cmd, "shards=", "index-location=", "time=", "start=", "step=")
	cmd.MarkFlagsMutuallyExclusive("codecs", "compressor")
	for _, of := range []string{"shape", "dtype"} {
		cmd.MarkFlagsMutuallyExclusive("from", of)
		cmd.MarkFlagsMutuallyExclusive("group", of)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if c.format != 3 {
			return unsupported("--zarr-format %d is not supported yet, only 3", c.format)
		}
		if c.group {
			return c.createGroup(cmd, args[0])
		}
		return c.createArray(cmd, args[0])
	}
	return cmd
}

func (c *creation) options() *zarr.CreateOptions { return &zarr.CreateOptions{Overwrite: c.overwrite} }

func (c *creation) createGroup(cmd *cobra.Command, location string) error {
	attributes, err := c.attributesJSON()
	if err != nil {
		return err
	}
	g, err := zarr.CreateGroup(cmd.Context(), location, attributes, c.options())
	if err != nil {
		return err
	}
	defer g.Close()
	if !wantsJSON(cmd) {
		return nil
	}
	return infoGroup(cmd, location, g)
}

func (c *creation) createArray(cmd *cobra.Command, location string) error {
	spec, data, err := c.begin(cmd)
	if err != nil {
		return err
	}
	if data != nil {
		defer data.close()
	}
	if err := c.complete(spec); err != nil {
		return err
	}
	a, err := zarr.CreateArray(cmd.Context(), location, *spec, c.options())
	if err != nil {
		return err
	}
	defer a.Close()
	if data != nil {
		if err := pour(cmd, data, a, nil); err != nil {
			return err
		}
	}
	if !wantsJSON(cmd) {
		return nil
	}
	return infoArray(cmd, location, a, false)
}

// begin returns a specification with shape and type, from the flags or from the file whose values it also opens.
func (c *creation) begin(cmd *cobra.Command) (*zarr.Spec, *values, error) {
	if c.from != "" {
		v, err := openValues(cmd, c.from, string(npyFormat), dtype.Type{})
		if err != nil {
			return nil, nil, err
		}
		return &zarr.Spec{Shape: v.shape, Type: v.typ}, v, nil
	}
	for _, name := range []string{"shape", "dtype"} {
		if !cmd.Flags().Changed(name) {
			return nil, nil, badUsage("--%s is missing (or --from FILE.npy, or --group)", name)
		}
	}
	shape, err := parseIndex("shape", c.shape)
	if err != nil {
		return nil, nil, err
	}
	t, err := dtype.Parse(c.dtype, nil)
	if err != nil {
		return nil, nil, badOrUnsupported("--dtype", c.dtype, err)
	}
	return &zarr.Spec{Shape: shape, Type: t}, nil, nil
}

// complete adds to a specification what the other flags say.
func (c *creation) complete(s *zarr.Spec) (err error) {
	if s.Chunks, err = c.cuts(s.Shape); err != nil {
		return err
	}
	if c.fill != "" {
		elem, err := s.Type.ParseText(c.fill)
		if err != nil {
			return badArgument("--fill %s: %w", c.fill, err)
		}
		if s.FillValue, err = s.Type.FormatFill(elem); err != nil {
			return err
		}
	}
	if s.Codecs, err = c.chain(s.Type); err != nil {
		return err
	}
	if s.KeyEncoding, err = keyEncoding(c.keys); err != nil {
		return err
	}
	if c.names != "" {
		s.DimensionNames = strings.Split(c.names, ",")
	}
	s.Attributes, err = c.attributesJSON()
	return err
}

// cuts returns how the axes are cut, nil for the library's choice.
func (c *creation) cuts(shape []int64) ([]grid.Cut, error) {
	text := strings.TrimSpace(c.chunks)
	if text == "auto" {
		return nil, nil
	}
	if text == "" || !strings.ContainsAny(text[:1], "[-0123456789") || strings.HasSuffix(text, "B") {
		return nil, unsupported("--chunks %q is not supported yet, only auto and JSON", text)
	}
	cuts, err := grid.ParseCuts(shape, text)
	if err == nil {
		_, err = grid.New(shape, cuts...)
	}
	if err != nil {
		return nil, badArgument("--chunks %s: %w", text, err)
	}
	return cuts, nil
}

// attributesJSON returns the attributes, or nil (of no type) where none are given.
func (c *creation) attributesJSON() (any, error) {
	if c.attributes == "" {
		return nil, nil
	}
	v, err := strictjson.Parse([]byte(c.attributes), strictjson.Limits{})
	if err == nil && v.Kind() != strictjson.Object {
		err = v.Errorf("an object is needed")
	}
	if err != nil {
		return nil, badArgument("--attributes: %w", err)
	}
	return v.Raw(), nil
}

// keyEncoding returns the chunk key encoding that a name and a separator stand for.
func keyEncoding(text string) (metadata.KeyEncoding, error) {
	for _, e := range []metadata.KeyEncoding{metadata.DefaultSlash, metadata.DefaultDot, metadata.V2Dot, metadata.V2Slash} {
		if text == e.Name()+string(e.Separator()) {
			return e, nil
		}
	}
	return 0, badArgument("--chunk-key-encoding %q; default/, default., v2. and v2/ are known", text)
}
