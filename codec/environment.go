// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"fmt"
	"slices"

	"varve.dev/zarr/metadata"
)

// The limits of an [Environment] that does not set them.
const (
	DefaultChunk = 1 << 30 // bytes of a decoded chunk
	DefaultInner = 1 << 24 // inner chunks of a shard; their index has 256 MiB
)

// Environment has the settings of a program for all its codecs: the registry, limits, and
// how shards are written. None of them is stored. The zero Environment is ready to use.
type Environment struct {
	// Registry has the codecs; nil means [Default].
	Registry *Registry
	// Unaligned permits inner chunks that do not divide their shards evenly, and inner
	// grids with several edges along an axis.
	Unaligned bool
	// Inner limits the inner chunks of a shard; 0 means [DefaultInner].
	Inner int64
	// Chunk limits the bytes of a decoded chunk; 0 means [DefaultChunk].
	Chunk int64
	// Order is the order of inner chunks in new shards.
	Order Order
	// Strategy is how to change a stored shard.
	Strategy Strategy
	// IndexCache limits the bytes of cached shard indexes; 0 means 16 MiB, a negative
	// number disables the cache.
	IndexCache int64
	// Adapt lets codecs choose settings for each chunk that is encoded; see [Adapter].
	Adapt bool
}

// Nester is the power of a codec that contains other codecs.
type Nester interface {
	// Nest makes the other codecs. It is called once, before Bind.
	Nest(env *Environment) error
}

// Order is the order in which inner chunks are stored in a new shard. Readers accept any
// order.
type Order uint8

// The orders of inner chunks.
const (
	Morton  Order = iota // Z order, with the first axis in the lowest bits
	C                    // the last axis varies fastest
	Fortran              // the first axis varies fastest
)

// Strategy is a way to change some inner chunks of a stored shard. Each publishes the
// changed shard in one step.
type Strategy uint8

// The strategies.
const (
	// Rewrite stores the whole shard again, in order and without gaps. It copies inner
	// chunks that do not change as they are encoded. It reads and writes all bytes of the
	// shard.
	Rewrite Strategy = iota
	// Append adds new inner chunks and a new index at the end of the shard. Old ones stay
	// as dead bytes until the shard is compacted. In a store that can splice
	// ([store.Splicer]) it transfers only the index and the new bytes, in others as much
	// as Rewrite.
	Append
	// InPlace overwrites inner chunks whose encoded length stays, in stores that can do
	// that safely ([store.Patcher]). It reads the index and writes only the new bytes. In
	// all other cases it is Rewrite.
	InPlace
)

// NewChain makes the codecs that exts describe and binds them to arrays of spec. It also
// reads forms that other programs wrote; see [Chain.Repairs]. Errors of a codec are of
// type [*Error]. They wrap [ErrUnsupported] for an unknown codec, and [ErrConfiguration]
// for an invalid chain.
func (e *Environment) NewChain(exts []metadata.Extension, spec Spec) (*Chain, error) {
	c := &Chain{spec: spec, specs: []Spec{spec}, limit: e.Chunk, adapt: e.Adapt}
	if c.limit <= 0 {
		c.limit = DefaultChunk
	}
	for i, ext := range exts {
		c.names = append(c.names, ext.Name)
		made, err := c.extend(e, ext, &spec)
		if err != nil {
			// Other programs may have written a form that is not the specified one.
			if now, r, ok := readForm(ext, spec, err); ok {
				if r.Strict != nil {
					r.Strict = &Error{ext.Name, i, r.Strict}
				}
				made, err = c.extend(e, now, &spec)
				c.repair(exts, i, now, r)
			}
		}
		if err != nil {
			return nil, &Error{ext.Name, i, err}
		}
		// Inner codecs of this one may have been repaired.
		if r, ok := made.(repairer); ok {
			if now, repairs := r.Repaired(); len(repairs) > 0 {
				now.Optional = ext.Optional
				c.repair(exts, i, now, repairs...)
			}
		}
	}
	if err := c.finish(); err != nil {
		return nil, err
	}
	return c, nil
}

// extend makes a codec and appends it to the chain.
func (c *Chain) extend(e *Environment, ext metadata.Extension, spec *Spec) (made any, err error) {
	made, err = e.registry().make(ext)
	// A codec makes its inner codecs before it is bound.
	if n, ok := made.(Nester); ok && err == nil {
		err = n.Nest(e)
	}
	if err == nil {
		err = c.add(made, spec)
	}
	return made, err
}

// repair records that codec i of exts was read as now.
func (c *Chain) repair(exts []metadata.Extension, i int, now metadata.Extension, repairs ...Repair) {
	if c.now == nil {
		c.now = slices.Clone(exts)
	}
	c.now[i], c.names[i] = now, now.Name
	c.repairs = append(c.repairs, repairs...)
}

func (e *Environment) registry() *Registry {
	if e.Registry == nil {
		return Default
	}
	return e.Registry
}

// finish sets the fields that depend on all codecs.
func (c *Chain) finish() error {
	if c.serial == nil {
		return fmt.Errorf("%w: none of the codecs %q turns arrays into bytes; a chain needs one that does, such as \"bytes\"", ErrConfiguration, c.names)
	}
	if t, ok := c.serial.(Transparent); ok {
		c.plain = t.Transparent()
	}
	_, c.divides = c.serial.(divider)
	c.varies = c.spec.Type.Variable()
	c.order = permutation(c.arrays, c.spec.Rank)
	c.inOrder = c.order != nil && slices.IsSorted(c.order)
	// Stored chunks contain their elements if nothing but checksums follows.
	c.shows = c.plain && c.order != nil && !slices.ContainsFunc(c.bytes, func(b BytesBytes) bool {
		_, ok := b.(Trimmer)
		return !ok
	})
	c.ranges = c.ranger()
	return nil
}

// add appends one codec. It replaces spec by that of the encoded arrays. If it fails, it
// changes nothing.
func (c *Chain) add(made any, spec *Spec) error {
	switch made := made.(type) {
	case ArrayArray:
		if c.serial != nil {
			return fmt.Errorf("%w: it works on arrays and must come before %q", ErrConfiguration, c.names[len(c.arrays)])
		}
		next, err := made.Bind(*spec)
		if err != nil {
			return err
		}
		// All arrays between codecs have references, or none has.
		if next.Type.Variable() != spec.Type.Variable() {
			return fmt.Errorf("%w: it makes %s of %s", ErrConfiguration, next.Type, spec.Type)
		}
		*spec = next
		c.arrays = append(c.arrays, made)
		c.specs = append(c.specs, next)
		return nil
	case ArrayBytes:
		if c.serial != nil {
			return fmt.Errorf("%w: only one codec of a chain may turn arrays into bytes, and %q does", ErrConfiguration, c.names[len(c.arrays)])
		}
		if err := made.Bind(*spec); err != nil {
			return err
		}
		c.serial = made
		return nil
	case BytesBytes:
		if c.serial == nil {
			return fmt.Errorf("%w: it encodes bytes, so it must follow a codec that turns elements into bytes, such as \"bytes\"", ErrConfiguration)
		}
		if b, ok := made.(Binder); ok {
			if err := b.Bind(*spec); err != nil {
				return err
			}
		}
		c.bytes = append(c.bytes, made)
		c.encoders = append(c.encoders, c.encoder(made))
		return nil
	}
	return fmt.Errorf("codec: %T is not a codec", made)
}

// encoder returns the function that encodes bytes with a codec.
func (c *Chain) encoder(made BytesBytes) func(dst, src []byte) ([]byte, error) {
	if a, ok := made.(Adapter); ok && c.adapt {
		return a.EncodeAdapted
	}
	return made.Encode
}

// permutation returns the order of axes that the codecs make of a decoded array, nil if
// one does more than reorder them.
func permutation(arrays []ArrayArray, rank int) []int {
	order := make([]int, rank)
	for i := range order {
		order[i] = i
	}
	for _, a := range arrays {
		p, ok := a.(Permuter)
		if !ok {
			return nil
		}
		next := make([]int, rank)
		for i, axis := range p.Order() {
			next[i] = order[axis]
		}
		order = next
	}
	return order
}
