package codec

import (
	"slices"

	"varve.dev/zarr/metadata"
)

// Environment is what codecs have in common with the program that uses them: where their
// own codecs come from, what it permits, and how it wants parts of chunks to be read and
// written. Nothing of it is stored. The zero Environment is useful.
type Environment struct {
	// Registry has the codecs; nil stands for [Default].
	Registry *Registry
	// Unaligned permits inner chunks that do not divide their shards, and inner grids of
	// several lengths.
	Unaligned bool
	// Inner is the most inner chunks of a shard; 0 stands for 2^24.
	Inner int64
	// Chunk is the most bytes of a decoded inner chunk; 0 stands for 1 GiB.
	Chunk int64
	// Order is that of inner chunks in the shards that are written.
	Order Order
	// Strategy says how a stored shard is changed.
	Strategy Strategy
	// IndexCache is the most bytes of shard indexes that are kept for later reads; 0
	// stands for 16 MiB, below 0 keeps none.
	IndexCache int64
}

// Nester is the power of a codec that has codecs of its own.
type Nester interface {
	// Nest makes them. It is called once, before Bind.
	Nest(env *Environment) error
}

// Order is an order in which the inner chunks of a shard are stored. All readers take
// any.
type Order uint8

// The orders that are written.
const (
	Morton  Order = iota // neighbours along every axis lie close together; the first axis counts in the lowest bits
	C                    // the last axis counts fastest
	Fortran              // the first axis counts fastest
)

// Strategy is a way to change some inner chunks of a stored shard. Every one publishes
// the shard in one step.
type Strategy uint8

// The strategies.
const (
	// Rewrite stores the shard anew: inner chunks that do not change are taken over as
	// they are encoded, in order and without gaps. It costs the bytes of the shard, read
	// and written.
	Rewrite Strategy = iota
	// Append stores new inner chunks and a new index behind all that the shard has, which
	// stays as dead bytes until the shard is compacted. Where the store can put values
	// together from their older version ([store.Splicer]), it costs the index and the new
	// bytes; elsewhere as much as Rewrite.
	Append
	// InPlace overwrites inner chunks whose encoded length does not change where they
	// are, in stores that can do that safely ([store.Patcher]), at the cost of the new
	// bytes and, if its checksums are not to be trusted, the index. Otherwise it is
	// Rewrite.
	InPlace
)

// NewChain makes the codecs that exts describe and binds them to arrays of spec. Forms
// that older programs wrote are read, too; see [Chain.Repairs]. Errors are of type
// [*Error] and wrap [ErrUnsupported] for an unknown codec and [ErrConfiguration] for a
// chain that cannot be.
func (e *Environment) NewChain(exts []metadata.Extension, spec Spec) (*Chain, error) {
	c := &Chain{spec: spec, specs: []Spec{spec}, limit: e.Chunk}
	if c.limit <= 0 {
		c.limit = 1 << 30
	}
	for i, ext := range exts {
		c.names = append(c.names, ext.Name)
		made, err := c.extend(e, ext, &spec)
		if err != nil {
			if now, r, ok := readOlder(ext, spec, err); ok {
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
		if r, ok := made.(Repairer); ok {
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
	if n, ok := made.(Nester); ok && err == nil {
		err = n.Nest(e)
	}
	if err == nil {
		err = c.add(made, spec)
	}
	return made, err
}

// repair notes that codec i of exts was read as another one.
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
