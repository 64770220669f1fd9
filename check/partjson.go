// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
)

// partVersion is the version of the JSON of a part.
const partVersion = 1

// partJSON is a part as JSON.
type partJSON struct {
	Version int `json:"varve_check_part"`
	Share
	manner
	Arrays []portionJSON `json:"arrays"`
}

// portionJSON is what was found in one array.
type portionJSON struct {
	Path     string      `json:"path"`
	Document string      `json:"document"`
	Counts   countsJSON  `json:"counts"`
	Faults   []faultJSON `json:"faults,omitempty"`
	Error    *errorJSON  `json:"error,omitempty"`
}

// countsJSON are the counts of chunks.
type countsJSON struct {
	Chunks  int64 `json:"chunks"`
	Inner   int64 `json:"inner,omitempty"`
	Bytes   int64 `json:"bytes,omitempty"`
	Dead    int64 `json:"dead,omitempty"`
	Faults  int64 `json:"faults,omitempty"`
	Damaged int64 `json:"damaged,omitempty"`
	Missing int64 `json:"missing,omitempty"`
}

// faultJSON is a fault of a chunk.
type faultJSON struct {
	Chunk  []int64   `json:"chunk"`
	Key    string    `json:"key"`
	Inner  [][]int64 `json:"inner,omitempty"`
	Offset int64     `json:"offset,omitempty"`
	Length int64     `json:"length,omitempty"`
	Shared bool      `json:"shared,omitempty"`
	Error  errorJSON `json:"error"`
}

// MarshalJSON implements [json.Marshaler].
func (p *Part) MarshalJSON() ([]byte, error) {
	out := partJSON{Version: partVersion, Share: p.Share, manner: p.how, Arrays: make([]portionJSON, len(p.arrays))}
	for i, one := range p.arrays {
		to := &out.Arrays[i]
		*to = portionJSON{Path: one.path, Document: one.document, Counts: one.counts.json()}
		if one.err != nil {
			e := newErrorJSON(one.err)
			to.Error = &e
		}
		for _, f := range one.found {
			to.Faults = append(to.Faults, faultJSON{f.Shard, f.Key, f.Inner, f.Off, f.Len, f.Shared, newErrorJSON(f.Err)})
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements [json.Unmarshaler]. Errors about what only [RunPart] can have
// written wrap [zarr.ErrInvalidArgument], or [zarr.ErrUnsupported] for a part of a later
// version of this package.
func (p *Part) UnmarshalJSON(data []byte) error {
	var in partJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("%w: check: not a part: %w", zarr.ErrInvalidArgument, err)
	}
	if in.Version > partVersion {
		return fmt.Errorf("%w: check: a part of version %d, made by a newer version of this package", zarr.ErrUnsupported, in.Version)
	}
	if in.Version != partVersion || in.Share.Of < 1 || in.Share.valid() != nil {
		return fmt.Errorf("%w: check: not a part", zarr.ErrInvalidArgument)
	}
	next, paths := Part{Share: in.Share, how: in.manner}, map[string]bool{}
	for _, one := range in.Arrays {
		if paths[one.Path] {
			return fmt.Errorf("%w: check: %v has array %q twice", zarr.ErrInvalidArgument, in.Share, one.Path)
		}
		paths[one.Path] = true
		found, err := one.restored()
		if err != nil {
			return fmt.Errorf("%w: check: array %q in %v: %w", zarr.ErrInvalidArgument, one.Path, in.Share, err)
		}
		next.arrays = append(next.arrays, found)
	}
	if err := next.sum(); err != nil {
		return err
	}
	*p = next
	return nil
}

// restored returns what was found in the array.
func (p portionJSON) restored() (portionOf, error) {
	one := portionOf{path: p.Path, document: p.Document, counts: p.Counts.restored()}
	for _, n := range one.counts.chunkCounts() {
		if *n < 0 {
			return one, fmt.Errorf("a count is %d", *n)
		}
	}
	if p.Error != nil {
		err, ok := p.Error.restored()
		if !ok {
			return one, fmt.Errorf("an error of the unknown kind %q", p.Error.Kind)
		}
		one.err = err
	}
	for _, f := range p.Faults {
		err, ok := f.Error.restored()
		if !ok {
			return one, fmt.Errorf("a fault of the unknown kind %q", f.Error.Kind)
		}
		one.found = append(one.found, zarr.ShardFault{
			Shard: f.Chunk, Key: f.Key, Fault: codec.Fault{Inner: f.Inner, Off: f.Offset, Len: f.Length, Shared: f.Shared, Err: err},
		})
	}
	return one, nil
}

// json returns the counts of chunks as JSON has them.
func (c Counts) json() countsJSON {
	return countsJSON{c.Chunks, c.Inner, c.Bytes, c.Dead, c.Faults, c.Damaged, c.Missing}
}

// restored returns the counts.
func (c countsJSON) restored() Counts {
	return Counts{Chunks: c.Chunks, Inner: c.Inner, Bytes: c.Bytes, Dead: c.Dead, Faults: c.Faults, Damaged: c.Damaged, Missing: c.Missing}
}
