// SPDX-License-Identifier: Apache-2.0

// Package sharding is the codec "sharding_indexed" 1.0 of zarr-specs v3. It stores a
// chunk, which is then called a shard, as many inner chunks, which are read and written
// separately.
//
// A shard contains the encoded inner chunks in any order and with any gaps. The shard
// index stands before or after them. It has two unsigned 64-bit numbers for every inner
// chunk, in C order: its offset from the start of the shard, and its length, both in
// bytes. An inner chunk that holds only the fill value is not stored; both its numbers
// are 2^64-1.
//
// Importing the package registers it as "sharding_indexed".
package sharding

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// Name is the name of the codec in metadata.
const Name = "sharding_indexed"

func init() { codec.Register(Name, New) }

// coder is the codec of one chain.
type coder struct {
	configuration []byte

	cut     cut
	inner   []metadata.Extension
	entries []metadata.Extension // codecs of the index
	atStart bool

	env    codec.Environment
	chain  *coding.Chain // of the inner chunks
	index  *coding.Chain
	spec   codec.Spec
	size   int64         // bytes of an element
	filler []byte        // the fill value as one element in memory
	heap   *strided.Heap // an empty heap, nil unless elements differ in length

	layouts layouts
	ratio   budget.Ratio // of the bytes of stored shards to the predictions of their layouts
	cache   *cache
	movers  sync.Pool // of *transfer.Mover
}

// New is the [codec.Factory] of the codec. It returns a [codec.ArrayBytes] that is a
// [codec.Nester]. The engine of the root package also reads and writes its inner chunks.
func New(configuration []byte) (any, error) {
	c := &coder{configuration: configuration}
	if err := c.parse(configuration); err != nil {
		return nil, fmt.Errorf("%w: %w", codec.ErrConfiguration, err)
	}
	return c, nil
}

// Nest implements [codec.Nester].
func (c *coder) Nest(env *codec.Environment) error {
	c.env = *env
	c.cache = newCache(env.IndexCache)
	return nil
}

// Bind implements [codec.ArrayBytes].
func (c *coder) Bind(spec codec.Spec) error {
	c.filler, c.heap = coding.Element(spec), coding.HeapOf(spec)
	if c.spec, c.size = spec, int64(coding.Width(spec)); c.cache == nil {
		c.cache = newCache(0) // Nest was not called
	}
	if err := c.cut.bind(spec.Rank, c.env.Unaligned); err != nil {
		return err
	}
	var err error
	if c.chain, err = coding.NewChain(&c.env, c.inner, spec); err != nil {
		return fmt.Errorf("codecs: %w", err)
	}
	if err := c.checkNested(); err != nil {
		return fmt.Errorf("codecs: %w", err)
	}
	return c.bindIndex()
}

// checkNested returns an error if inner chunks are shards and their codecs cannot cut
// them.
func (c *coder) checkNested() error {
	if c.cut.shape == nil {
		return nil // edges differ; the grid checks them
	}
	g, err := grid.New(c.cut.shape, grid.Chunks(c.cut.shape...)...)
	if err != nil {
		return err
	}
	return c.chain.CheckGrid(g)
}

// bindIndex makes the codecs of the index: an array with one axis more than the shard.
func (c *coder) bindIndex() error {
	typ, err := dtype.Parse("uint64", nil)
	if err != nil {
		return err
	}
	// Missing entries have all bits set, so they are the fill value of the index.
	spec := codec.Spec{Type: typ, Fill: slices.Repeat([]byte{0xff}, 8), Rank: c.spec.Rank + 1}
	if c.index, err = coding.NewChain(&c.env, c.entries, spec); err != nil {
		return fmt.Errorf("index_codecs: %w", err)
	}
	shape := slices.Repeat([]int64{1}, spec.Rank)
	shape[c.spec.Rank] = 2
	// Readers find the index by its length, which must not vary.
	if _, fixed := c.index.Fixed(shape, 16); !fixed {
		return fmt.Errorf("%w: index_codecs: %q do not always encode an index to the same length; use \"bytes\" and \"crc32c\"", codec.ErrConfiguration, c.index.Names())
	}
	return nil
}

// Inner implements [coding.Divider].
func (c *coder) Inner() []grid.Cut { return slices.Clone(c.cut.cuts) }

// Guarded implements [codec.Guarded].
func (c *coder) Guarded() bool { return c.chain.HasChecksum() }

// Lossless is for [coding.Chain.Lossless].
func (c *coder) Lossless() bool { return c.chain.Lossless() }

// CheckAxis implements [coding.Divider].
func (c *coder) CheckAxis(i int, a grid.Axis) error { return c.cut.checkAxis(i, a) }

// Checked implements [coding.Divider]. A shard of another shape has an index of another
// length, so the checksum does not match. If inner chunks are clipped, both indexes may
// have the same length. Then the inner chunks must differ.
func (c *coder) Checked() bool {
	return c.index.HasChecksum() && (!c.cut.clips || c.chain.DistinguishesShapes())
}

// parse reads the configuration.
func (c *coder) parse(configuration []byte) error {
	var m struct {
		ChunkShape    json.RawMessage `json:"chunk_shape"`
		ChunkGrid     json.RawMessage `json:"chunk_grid"`
		Codecs        json.RawMessage `json:"codecs"`
		IndexCodecs   json.RawMessage `json:"index_codecs"`
		IndexLocation *string         `json:"index_location"`
	}
	err := codec.DecodeConfiguration(configuration, &m)
	if err != nil {
		return err
	}
	if c.cut, err = parseCut(m.ChunkShape, m.ChunkGrid); err != nil {
		return err
	}
	if c.inner, err = extensions("codecs", m.Codecs); err != nil {
		return err
	}
	if c.entries, err = extensions("index_codecs", m.IndexCodecs); err != nil {
		return err
	}
	if m.IndexLocation != nil {
		c.atStart = *m.IndexLocation == "start"
		if !c.atStart && *m.IndexLocation != "end" {
			return fmt.Errorf("index_location is %q, want \"start\" or \"end\"", *m.IndexLocation)
		}
	}
	return nil
}

// extensions reads a list of codecs.
func extensions(member string, raw []byte) ([]metadata.Extension, error) {
	if raw == nil {
		return nil, fmt.Errorf("member %q is missing", member)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, fmt.Errorf("member %q: %w", member, err)
	}
	list := make([]metadata.Extension, len(items))
	for i, item := range items {
		var err error
		if list[i], err = metadata.ParseExtension(item, metadata.Limits{}); err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", member, i, err)
		}
	}
	return list, nil
}

// Complete implements [coding.Completer].
func (c *coder) Complete(e metadata.Extension) metadata.Extension {
	full, err := codec.Shards(codec.Sharding{
		Inner:       c.cut.cuts,
		Codecs:      c.chain.Complete(c.inner),
		IndexCodecs: c.index.Complete(c.entries),
		AtStart:     c.atStart,
	})
	if err != nil {
		return e // Varve reads this cut but does not write it
	}
	return full
}

// Repaired returns the specified form of the codec, and how codecs of it were repaired.
func (c *coder) Repaired() (metadata.Extension, []coding.Repair) {
	repairs := append(c.chain.Repairs(), c.index.Repairs()...)
	if len(repairs) == 0 {
		return metadata.Extension{}, nil
	}
	specified := metadata.Extension{Name: Name, Configuration: bytes.Clone(c.configuration)}
	// Only these two members can have repaired codecs. All others keep their spelling.
	for member, codecs := range map[string][]metadata.Extension{
		"codecs":       c.chain.Specified(c.inner),
		"index_codecs": c.index.Specified(c.entries),
	} {
		list := []byte{'['}
		for i, e := range codecs {
			if i > 0 {
				list = append(list, ',')
			}
			list = e.Append(list)
		}
		changed, err := metadata.SetAttribute(specified.Configuration, member, append(list, ']'))
		if err == nil { // the configuration was read, so it is an object
			specified.Configuration = changed
		}
	}
	return specified, repairs
}

// cut is how shards are cut into inner chunks.
type cut struct {
	shape []int64    // of all inner chunks; nil if the edges are listed
	grid  *grid.Grid // of one shard if the edges are listed, otherwise nil
	cuts  []grid.Cut // one for each axis
	clips bool       // the last inner chunks are clipped at the end of the shard
}

func parseCut(shape, inner []byte) (cut, error) {
	switch {
	case shape != nil && inner != nil:
		return cut{}, errors.New("chunk_shape and chunk_grid are both given; omit one of them")
	case shape != nil:
		return parseShape(shape)
	case inner != nil:
		return parseInnerGrid(inner)
	}
	return cut{}, errors.New(`member "chunk_shape" is missing`)
}

func parseShape(raw []byte) (cut, error) {
	var lengths []codec.Int
	if err := json.Unmarshal(raw, &lengths); err != nil || lengths == nil {
		return cut{}, fmt.Errorf("chunk_shape must be a list of integers: %w", err)
	}
	c := cut{shape: make([]int64, len(lengths))}
	for i, n := range lengths {
		if n < 1 {
			return cut{}, fmt.Errorf("chunk_shape: axis %d: an inner chunk has at least one element, got %d", i, n)
		}
		c.shape[i] = int64(n)
	}
	return c, nil
}

// parseInnerGrid reads a rectilinear grid of inner chunks, which replaces chunk_shape. No
// specification has it; Varve proposes it.
func parseInnerGrid(raw []byte) (cut, error) {
	ext, err := metadata.ParseExtension(raw, metadata.Limits{})
	if err != nil {
		return cut{}, fmt.Errorf("chunk_grid: %w", err)
	}
	if ext.Name != "rectilinear" {
		return cut{}, fmt.Errorf("chunk_grid is %q, want %q, or a chunk_shape", ext.Name, "rectilinear")
	}
	var shapes struct {
		ChunkShapes []json.RawMessage `json:"chunk_shapes"`
	}
	if err := json.Unmarshal(ext.Configuration, &shapes); err != nil {
		return cut{}, fmt.Errorf("chunk_grid: %w", err)
	}
	zero := make([]int64, len(shapes.ChunkShapes)) // the edges imply the extent of a shard
	g, err := grid.Parse(zero, ext.Name, ext.Configuration, nil)
	if err != nil {
		return cut{}, fmt.Errorf("chunk_grid: %w", err)
	}
	for i := range zero {
		if g.Axis(i).IsRegular() {
			return cut{}, fmt.Errorf("chunk_grid: axis %d: want the list of the lengths in a shard, got a single one", i)
		}
	}
	return cut{grid: g}, nil
}

// bind checks the cut for shards with rank axes.
func (c *cut) bind(rank int, unaligned bool) error {
	if c.grid != nil {
		return c.bindGrid(rank, unaligned)
	}
	if len(c.shape) != rank {
		return fmt.Errorf("%w: chunk_shape %d has %s, the shard has %d", codec.ErrConfiguration, c.shape, quantity.Count(len(c.shape), "axes"), rank)
	}
	c.clips = unaligned
	for _, n := range c.shape {
		if unaligned {
			c.cuts = append(c.cuts, grid.EveryTrimmed(n))
		} else {
			c.cuts = append(c.cuts, grid.Every(n))
		}
	}
	return nil
}

func (c *cut) bindGrid(rank int, unaligned bool) error {
	if !unaligned {
		return fmt.Errorf("%w: inner chunks of several lengths are an experiment ("+remedy.InnerChunks+")", codec.ErrUnsupported)
	}
	if c.grid.Rank() != rank {
		return fmt.Errorf("%w: chunk_grid has %s, the shard has %d", codec.ErrConfiguration, quantity.Count(c.grid.Rank(), "axes"), rank)
	}
	for i := range rank {
		c.cuts = append(c.cuts, grid.Runs(slices.Collect(c.grid.Axis(i).Edges())...))
	}
	return nil
}

// checkAxis returns an error if inner chunks do not divide shards along an axis.
func (c *cut) checkAxis(i int, a grid.Axis) error {
	if c.clips {
		return nil
	}
	if c.grid != nil {
		if !a.IsRegular() {
			return fmt.Errorf("%w: inner chunks of several lengths need shards of one length", codec.ErrConfiguration)
		}
		return c.checkSum(i, a.Step())
	}
	return notDividing(a.MultipleOf(c.shape[i]))
}

func (c *cut) checkSum(i int, length int64) error {
	if sum := c.grid.Axis(i).Covered(); sum != length {
		return fmt.Errorf("%w: the inner chunks have %s together, a shard has %d", codec.ErrConfiguration, quantity.Count(sum, "elements"), length)
	}
	return nil
}

// notDividing adds the option that permits inner chunks which do not divide a shard to
// err, which may be nil.
func notDividing(err error) error {
	if err == nil {
		return nil
	}
	what := strings.TrimPrefix(err.Error(), grid.ErrInvalid.Error()+": ")
	return fmt.Errorf("%w: %s ("+remedy.InnerChunks+")", codec.ErrConfiguration, what)
}

// of returns the grid of the inner chunks of a shard of the given shape.
func (c *cut) of(shape []int64) (*grid.Grid, error) {
	for i, n := range shape {
		switch {
		case c.clips:
		case c.grid != nil:
			if err := c.checkSum(i, n); err != nil {
				return nil, &grid.AxisError{Axis: i, Err: err}
			}
		case n%c.shape[i] != 0:
			return nil, &grid.AxisError{Axis: i, Err: notDividing(fmt.Errorf("inner chunks of %d do not divide a shard of %d", c.shape[i], n))}
		}
	}
	return grid.New(shape, c.cuts...)
}
