// SPDX-License-Identifier: Apache-2.0

package codectest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
)

// newRand returns a source of the same random numbers in every run.
func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// largest is the length of the longest input, unless the options say otherwise.
const largest = 1 << 20

// inputs returns byte strings of many lengths and kinds, the short ones first. Their
// lengths are multiples of Options.Multiple.
func inputs(o *Options) [][]byte {
	multiple, most := max(1, o.Multiple), cmp.Or(o.Largest, largest)
	var list [][]byte
	for _, n := range []int{0, 1, 2, 7, 100, 1000, 70_000, largest} {
		if n > most {
			break
		}
		n = (n + multiple - 1) / multiple * multiple
		list = append(list, zeros(n), ramp(n), noise(n))
	}
	return list
}

func zeros(n int) []byte { return make([]byte, n) }

// ramp returns the bytes of ascending 16-bit numbers, which compress somewhat.
func ramp(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i >> (9 * (i & 1)))
	}
	return b
}

func noise(n int) []byte {
	b, r := make([]byte, n), newRand()
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// specs returns the arrays to test with.
func specs(o *Options) []codec.Spec {
	if o.Specs != nil {
		return o.Specs
	}
	var list []codec.Spec
	for _, name := range []string{"bool", "int8", "uint16", "float32", "int64", "complex64", "complex128", "r24"} {
		t, err := dtype.Parse(name, nil)
		if err != nil {
			continue
		}
		for rank := range 5 {
			list = append(list, codec.Spec{Type: t, Fill: make([]byte, t.Size()), Rank: rank})
		}
	}
	return list
}

// shapes returns chunk shapes of a rank: single elements, odd lengths, a long axis, and
// one without elements.
func shapes(rank int) [][]int64 {
	if rank == 0 {
		return [][]int64{{}}
	}
	one, long, none, odd := make([]int64, rank), make([]int64, rank), make([]int64, rank), make([]int64, rank)
	for i := range rank {
		one[i], long[i], none[i], odd[i] = 1, 2, 3, int64(3+2*i)
	}
	long[rank-1], none[0] = 131, 0
	return [][]int64{one, long, none, odd}
}

// newBlock returns a block of random valid elements.
func newBlock(t dtype.Type, shape []int64, r *rand.Rand) codec.Block {
	b := codec.Block{Shape: shape}
	if t.Size() == 0 {
		b.Offsets = []int64{0}
	}
	for range count(shape) {
		n := t.Size()
		if n == 0 {
			n = r.IntN(9)
		}
		for range n {
			b.Data = append(b.Data, anyByte(t, r))
		}
		if b.Offsets != nil {
			b.Offsets = append(b.Offsets, int64(len(b.Data)))
		}
	}
	return b
}

func anyByte(t dtype.Type, r *rand.Rand) byte {
	if t.Kind() == dtype.KindBool {
		return byte(r.IntN(2))
	}
	return byte(r.IntN(256))
}

// emptyBlock returns a block to decode into, with garbage in its memory.
func emptyBlock(t dtype.Type, shape []int64) codec.Block {
	b := codec.Block{Shape: shape}
	if t.Size() > 0 {
		b.Data = make([]byte, count(shape)*int64(t.Size()))
	}
	for i := range b.Data {
		b.Data[i] = 0xa5
	}
	return b
}

func count(shape []int64) int64 {
	n := int64(1)
	for _, l := range shape {
		n *= l
	}
	return n
}

// Options describe a codec beyond the contract. A nil *Options is the zero Options.
type Options struct {
	// Checksum is set if the encoded form has a checksum, so that altered bytes never
	// decode to wrong data.
	Checksum bool
	// Unframed is set if the encoded form does not contain its length, so that the codec
	// cannot detect missing or extra bytes.
	Unframed bool
	// Lossy is set if decoded values may differ from those that were encoded.
	Lossy bool
	// Multiple is the number of bytes of which a bytes-to-bytes codec encodes only
	// multiples. 0 means 1.
	Multiple int
	// Largest limits the input of a bytes-to-bytes codec in bytes, for codecs slower than
	// about 10 MB/s. 0 means 1 MiB.
	Largest int
	// Memory is the number of bytes that each decoding may allocate even for a short
	// input. It is for codecs whose library reuses no memory.
	Memory int
	// Cuts is set if the encoded form contains its shape, and is clipped or padded to the
	// shape that it is decoded as.
	Cuts bool
	// Specs are the arrays to test array-to-array and array-to-bytes codecs with. A
	// [codec.Binder] is bound to the first. Nil means several of every rank up to 4.
	Specs []codec.Spec
}

// check tests one requirement of the contract.
type check struct {
	name string
	run  func() error
}

// isLong reports whether the check codes many times in one goroutine.
func (c check) isLong() bool {
	return slices.Contains([]string{"append", "bomb", "damage", "deterministic", "garbage", "limit", "trailing", "trim", "truncated"}, c.name)
}

// safely runs the check, and turns a panic into a failure.
func (c check) safely() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return c.run()
}

func eachSpec(o *Options, run func(codec.Spec) error) []check {
	var list []check
	for _, s := range specs(o) {
		name := fmt.Sprintf("%s/rank=%d", s.Type.Name(), s.Rank)
		list = append(list, check{name, func() error { return run(s) }})
	}
	return list
}
