// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
)

// Rechunking cuts an array in any other way, packs chunks into shards or unpacks them,
// and changes codecs. Fields that are not set stay as they are.
//
// Chunks that keep their shape and codecs are copied as they are encoded, also if they
// become inner chunks of shards or inner chunks become chunks.
type Rechunking struct {
	// Chunks is how every axis is cut; see [zarr.Spec]. With shards, this cuts the
	// shards.
	Chunks Cuts `json:"chunks,omitempty"`
	// Inner is how shards are cut into inner chunks.
	Inner Cuts `json:"inner,omitempty"`
	// Unpack makes chunks of the inner chunks of shards, unless Chunks is set.
	Unpack bool `json:"unpack,omitempty"`
	// IndexAtStart puts the index of a shard before its inner chunks.
	IndexAtStart bool `json:"index_at_start,omitempty"`
	// Codecs is the codec chain, of inner chunks if there are any. A zstd here or in
	// Compressor that does not say whether it has a checksum has one ([zarr.Spec]).
	Codecs []metadata.Extension `json:"codecs,omitempty"`
	// Calendar is the growth policy that Chunks follow, such as calendar:year, or "". If
	// the array has a stored growth policy that is a calendar, this replaces it.
	Calendar string `json:"calendar,omitempty"`
	// Compressor replaces the codecs that turn bytes into bytes, except checksums. An
	// empty list stores elements as they are, nil keeps the codecs. It excludes Codecs.
	Compressor []metadata.Extension `json:"compressor,omitzero"`
	// Adapt lets codecs choose settings for each chunk that is encoded, as
	// [zarr.Options.AdaptCodecs] does. By itself, it changes no chunk.
	Adapt bool `json:"adapt,omitempty"`
	// FillValue is the fill value, in format 3. All elements stay. So chunks that were
	// not stored before are stored now, unless they have only the new fill value.
	FillValue zarr.FillValue `json:"fill_value,omitzero"`
	// Region, if not nil, is the part of the array that a new array gets
	// ([Options.Into]). An interval whose Stop is 0 reaches to the end of the axis, and
	// so does one that is longer than the axis.
	Region grid.Box `json:"region,omitempty"`
	// Keys is how chunk keys are written. Nil chooses keys that are free or, for a new
	// array, those of the old one.
	Keys *metadata.KeyEncoding `json:"keys,omitempty"`
}

func (Rechunking) operation() string { return "rechunk" }

func (r Rechunking) target(s *snapshot.Array) (*target, error) {
	if r.Unpack && r.Inner != nil {
		return nil, fmt.Errorf("%w: both inner chunks and Unpack are given, only one can be meant", zarr.ErrInvalidArgument)
	}
	if r.Codecs != nil && r.Compressor != nil {
		return nil, fmt.Errorf("%w: both Codecs and Compressor are given, only one can be meant", zarr.ErrInvalidArgument)
	}
	window, err := r.windowOf(s.Grid.Shape())
	if err != nil {
		return nil, err
	}
	g, err := r.grid(s, window)
	if err != nil {
		return nil, err
	}
	doc, changed := s.Document(), !g.Equal(s.Grid) || window != nil
	if changed {
		if doc, err = recutTo(s, g); err != nil {
			return nil, err
		}
	}
	if r.Inner != nil || r.Unpack || r.Codecs != nil || r.Compressor != nil {
		codecs, err := r.codecs(s)
		if err != nil {
			return nil, err
		}
		// The spelling of codecs may differ although they store the same bytes.
		next := doc.Resized(doc.Shape, doc.ChunkGrid)
		if next.Codecs = codecs; !likeness.SameElements(next, doc) {
			if doc.Format() == 2 {
				return nil, fmt.Errorf("%w: an array of format 2 keeps its codecs; convert it to format 3 first ("+remedy.Convert+")", zarr.ErrUnsupported)
			}
			doc, changed = next, true
		}
	}
	if filled, err := r.fillDocument(s, doc); err != nil {
		return nil, err
	} else if filled != nil {
		doc, changed = filled, true
	}
	t := &target{doc: doc, move: staging.Move{Window: window}}
	if r.Keys != nil && !sameKeys(*r.Keys, s.Engine.Keys, s.Grid.Rank()) {
		t.keys, changed = r.Keys, true
	}
	if !changed {
		return nil, nil
	}
	return t, nil
}

// fillDocument returns a document with the new fill value, or nil if it stays.
func (r Rechunking) fillDocument(s *snapshot.Array, doc *metadata.Array) (*metadata.Array, error) {
	if r.FillValue.JSON() == "" {
		return nil, nil
	}
	is, err := r.FillValue.Element(s.Type)
	if err != nil {
		return nil, fmt.Errorf("%w: the fill value %.40s: %w", zarr.ErrInvalidArgument, r.FillValue.JSON(), err)
	}
	was, err := zarr.FillJSON(string(doc.FillValue)).Element(s.Type)
	if err != nil || bytes.Equal(is, was) { // a NaN differs from itself
		return nil, err
	}
	if doc.Format() == 2 {
		return nil, fmt.Errorf("%w: an array of format 2 keeps its fill value; convert it to format 3 first ("+remedy.Convert+")", zarr.ErrUnsupported)
	}
	doc = doc.Resized(doc.Shape, doc.ChunkGrid)
	doc.FillValue = []byte(r.FillValue.JSON())
	return doc, nil
}

// Shape returns the shape of the result, given that of the array: the shape of the
// Region, if there is one.
func (r Rechunking) Shape(array []int64) ([]int64, error) {
	window, err := r.windowOf(array)
	if window == nil {
		return array, err
	}
	return window.Shape(), nil
}

// windowOf returns the region within an array of a shape, or nil if it is all of it.
func (r Rechunking) windowOf(shape []int64) (grid.Box, error) {
	if r.Region == nil {
		return nil, nil
	}
	if len(r.Region) != len(shape) {
		return nil, fmt.Errorf("%w: a region of %s, the array has %d", zarr.ErrInvalidArgument, quantity.Count(len(r.Region), "axes"), len(shape))
	}
	window := slices.Clone(r.Region)
	for i := range window {
		in, extent := &window[i], shape[i]
		if in.Start < 0 || in.Stop < 0 || in.Stop > 0 && in.Stop <= in.Start {
			return nil, &grid.AxisError{Axis: i, Err: fmt.Errorf("%w: the region from %d to %d", grid.ErrOutOfRange, in.Start, in.Stop)}
		}
		// The array that is followed may be shorter than the region yet, or shorter by
		// now.
		if in.Start = min(in.Start, extent); in.Stop == 0 || in.Stop > extent {
			in.Stop = extent
		}
	}
	return window, nil
}

// grid returns the new grid of stored chunks, of an array or of a window within it.
func (r Rechunking) grid(s *snapshot.Array, window grid.Box) (*grid.Grid, error) {
	shape := s.Grid.Shape()
	if window != nil {
		shape = window.Shape()
	}
	if r.Chunks != nil {
		return r.Chunks.grid(shape)
	}
	g, err := s.Grid, error(nil)
	if r.Unpack && s.Engine.Chain.Divided() {
		g, err = s.Inner()
	}
	if err == nil && window != nil {
		g, err = g.Restrict(window)
	}
	return g, err
}

// codecs returns the new codecs.
func (r Rechunking) codecs(s *snapshot.Array) ([]metadata.Extension, error) {
	now := s.Document().Codecs
	// In format 3, a zstd that does not say whether it has a checksum gets one, as in a
	// zarr.Spec.
	sums := s.Document().Format() != 2
	units := coding.WithChecksums(r.Codecs, sums)
	if units == nil {
		units = s.Engine.Chain.UnitCodecs(now)
		if r.Chunks != nil || r.Inner != nil {
			units = metadata.WithoutChunkShapes(units)
		}
	}
	if r.Compressor != nil {
		var err error
		if units, err = replaceCompressor(units, coding.WithChecksums(r.Compressor, sums)); err != nil {
			return nil, err
		}
	}
	switch {
	case r.Inner != nil:
		e, err := codec.Shards(codec.Sharding{Inner: r.Inner, Codecs: units, AtStart: r.IndexAtStart})
		return []metadata.Extension{e}, err
	case r.Unpack || !s.Engine.Chain.Divided():
		return units, nil
	}
	e, err := codec.Shards(codec.Sharding{Inner: s.Engine.Chain.Inner(), Codecs: units, AtStart: r.IndexAtStart})
	return []metadata.Extension{e}, err
}

// replaceCompressor returns a chain with another compressor before its checksums.
func replaceCompressor(chain, compressor []metadata.Extension) ([]metadata.Extension, error) {
	var before, checksums []metadata.Extension
	for _, e := range chain {
		made, err := codec.Default.New(e)
		if err != nil {
			return nil, fmt.Errorf("codec %q: %w", e.Name, err)
		}
		switch made.(type) {
		case codec.Trimmer:
			checksums = append(checksums, e)
		case codec.BytesBytes: // replaced
		default:
			before = append(before, e)
		}
	}
	return slices.Concat(before, compressor, checksums), nil
}

// Cuts says how every axis is cut. In JSON an axis is a number, the length of all chunks,
// or a list of runs, each a length and a count.
type Cuts []grid.Cut

// MarshalJSON implements [json.Marshaler].
func (c Cuts) MarshalJSON() ([]byte, error) {
	list := make([]any, len(c))
	for i, cut := range c {
		a, err := grid.NewAxis(0, cut)
		if err != nil {
			return nil, &grid.AxisError{Axis: i, Err: err}
		}
		if a.IsRegular() {
			list[i] = a.Step()
			continue
		}
		runs := [][2]int64{}
		for r := range a.Edges() {
			runs = append(runs, [2]int64{r.Length, r.Count})
		}
		list[i] = runs
	}
	return json.Marshal(list)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Cuts) UnmarshalJSON(raw []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	*c = make(Cuts, len(list))
	for i, item := range list {
		var step int64
		if json.Unmarshal(item, &step) == nil {
			(*c)[i] = grid.Every(step)
			continue
		}
		var runs [][2]int64
		if err := json.Unmarshal(item, &runs); err != nil {
			return fmt.Errorf("axis %d: %w", i, err)
		}
		cut := make([]grid.Run, len(runs))
		for k, r := range runs {
			cut[k] = grid.Run{Length: r[0], Count: r[1]}
		}
		(*c)[i] = grid.Runs(cut...)
	}
	return nil
}

// grid returns the grid of an array of the given shape. An axis whose edges do not reach
// its extent, because the array has grown since, gets one more chunk.
func (c Cuts) grid(shape []int64) (*grid.Grid, error) {
	if len(c) != len(shape) {
		return nil, fmt.Errorf("%w: chunks of %s, the array has %d", zarr.ErrInvalidArgument, quantity.Count(len(c), "axes"), len(shape))
	}
	cuts := make([]grid.Cut, len(c))
	for i, cut := range c {
		a, err := grid.NewAxis(0, cut)
		if err != nil {
			return nil, &grid.AxisError{Axis: i, Err: err}
		}
		if covered := a.Covered(); !a.IsRegular() && covered < shape[i] {
			if a, err = grid.NewAxis(covered, cut); err == nil {
				a, err = a.Grown(shape[i], grid.AppendOne())
			}
			if err != nil {
				return nil, &grid.AxisError{Axis: i, Err: err}
			}
		}
		cuts[i] = cutOf(a)
	}
	return grid.New(shape, cuts...)
}
