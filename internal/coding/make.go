// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

// NewChain makes the codecs that exts describe and binds them to arrays of spec. It also
// reads forms that other programs wrote; see [Chain.Repairs]. Errors of a codec are of
// type [*Error]. They wrap [codec.ErrUnsupported] for an unknown codec, and
// [codec.ErrConfiguration] for an invalid chain.
func NewChain(env *codec.Environment, exts []metadata.Extension, spec codec.Spec) (*Chain, error) {
	c := &Chain{spec: spec, specs: []codec.Spec{spec}, limit: env.Chunk, adapt: env.Adapt}
	if c.limit <= 0 {
		c.limit = DefaultChunk
	}
	for i, ext := range exts {
		c.names = append(c.names, ext.Name)
		made, err := c.extend(env, ext, &spec)
		if err != nil {
			// Other programs may have written a form that is not the specified one.
			if now, r, ok := readForm(ext, spec, err); ok {
				if r.Strict != nil {
					r.Strict = &Error{Codec: ext.Name, Place: i, Err: r.Strict}
				}
				made, err = c.extend(env, now, &spec)
				c.repair(exts, i, now, r)
			}
		}
		if err != nil {
			return nil, &Error{Codec: ext.Name, Place: i, Err: err}
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
func (c *Chain) extend(env *codec.Environment, ext metadata.Extension, spec *codec.Spec) (made any, err error) {
	registry := env.Registry
	if registry == nil {
		registry = codec.Default
	}
	made, err = registry.New(ext)
	// A codec makes its inner codecs before it is bound.
	if n, ok := made.(codec.Nester); ok && err == nil {
		err = n.Nest(env)
	}
	if err == nil {
		err = c.add(made, spec)
	}
	return made, err
}

// repair records that codec i of exts was read as now.
func (c *Chain) repair(exts []metadata.Extension, i int, now metadata.Extension, repairs ...Repair) {
	if c.specified == nil {
		c.specified = slices.Clone(exts)
	}
	c.specified[i], c.names[i] = now, now.Name
	c.repairs = append(c.repairs, repairs...)
}

// finish sets the fields that depend on all codecs.
func (c *Chain) finish() error {
	if c.serial == nil {
		return fmt.Errorf("%w: none of the codecs %q turns arrays into bytes; a chain needs one that does, such as \"bytes\"", codec.ErrConfiguration, c.names)
	}
	if t, ok := c.serial.(codec.Transparent); ok {
		c.plain = t.Transparent()
	}
	_, c.divides = c.serial.(Divider)
	c.varies = c.spec.Type.Variable()
	c.order = permutation(c.arrays, c.spec.Rank)
	c.inOrder = c.order != nil && slices.IsSorted(c.order)
	// Stored chunks contain their elements if nothing but checksums follows.
	c.shows = c.plain && c.order != nil && !slices.ContainsFunc(c.bytes, func(b codec.BytesBytes) bool {
		_, ok := b.(codec.Trimmer)
		return !ok
	})
	c.ranges = c.ranger()
	return nil
}

// add appends one codec. It replaces spec by that of the encoded arrays. If it fails, it
// changes nothing.
func (c *Chain) add(made any, spec *codec.Spec) error {
	switch made := made.(type) {
	case codec.ArrayArray:
		if c.serial != nil {
			return fmt.Errorf("%w: it works on arrays and must come before %q", codec.ErrConfiguration, c.names[len(c.arrays)])
		}
		next, err := made.Bind(*spec)
		if err != nil {
			return err
		}
		// All arrays between codecs have references, or none has.
		if next.Type.Variable() != spec.Type.Variable() {
			return fmt.Errorf("%w: it makes %s of %s", codec.ErrConfiguration, next.Type, spec.Type)
		}
		*spec = next
		c.arrays = append(c.arrays, made)
		c.specs = append(c.specs, next)
		return nil
	case codec.ArrayBytes:
		if c.serial != nil {
			return fmt.Errorf("%w: only one codec of a chain may turn arrays into bytes, and %q does", codec.ErrConfiguration, c.names[len(c.arrays)])
		}
		if err := made.Bind(*spec); err != nil {
			return err
		}
		c.serial = made
		return nil
	case codec.BytesBytes:
		if c.serial == nil {
			return fmt.Errorf("%w: it encodes bytes, so it must follow a codec that turns elements into bytes, such as \"bytes\"", codec.ErrConfiguration)
		}
		if b, ok := made.(codec.Binder); ok {
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
func (c *Chain) encoder(made codec.BytesBytes) func(dst, src []byte) ([]byte, error) {
	if a, ok := made.(Adapter); ok && c.adapt {
		return a.EncodeAdapted
	}
	return made.Encode
}

// permutation returns the order of axes that the codecs make of a decoded array, nil if
// one does more than reorder them.
func permutation(arrays []codec.ArrayArray, rank int) []int {
	order := make([]int, rank)
	for i := range order {
		order[i] = i
	}
	for _, a := range arrays {
		p, ok := a.(codec.Permuter)
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

// Complete returns the specified forms of exts, from which the chain was made, in their
// plain spelling and with all optional members ([Completer]). So equivalent
// chains become equal.
func (c *Chain) Complete(exts []metadata.Extension) []metadata.Extension {
	full := slices.Clone(c.Specified(exts))
	for i := range full {
		optional := full[i].Optional
		if f, ok := c.codec(i).(Completer); ok {
			full[i] = f.Complete(full[i])
		}
		full[i].Optional = optional
		full[i] = full[i].Plain()
	}
	return full
}

// More powers of codecs, beside those of package codec. Only codecs of this module have
// them.

// Adapter is the power of a [codec.BytesBytes] codec to choose settings for each chunk,
// which its decoder reads whatever the metadata say. A chain uses it if
// [codec.Environment.Adapt] is set.
type Adapter interface {
	// EncodeAdapted is Encode with the settings that suit a sample of src. The same src
	// and configuration always give the same bytes.
	EncodeAdapted(dst, src []byte) ([]byte, error)
}

// Validator is the power of a [codec.Transparent] codec to refuse bytes that are not
// values of the data type, such as a bool that is neither 0 nor 1. The chain calls it
// when it skips Decode.
type Validator interface {
	// Validate returns an error if an element of data is invalid.
	Validate(data []byte) error
}

// Completer is the power of a codec whose configuration has optional members.
type Completer interface {
	// Complete is called after Bind, with the metadata e from which the codec was made.
	// It returns e with all members that matter for the bound arrays, and without the
	// others.
	Complete(e metadata.Extension) metadata.Extension
}
