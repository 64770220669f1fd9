// SPDX-License-Identifier: Apache-2.0

// Package codec defines the contracts of codecs, which encode chunks to bytes.
//
// A chain of codecs has three parts (zarr-specs v3 core, "Codecs"): any number of
// array-to-array codecs, exactly one array-to-bytes codec, and any number of
// bytes-to-bytes codecs. To add a codec, implement one small interface, [ArrayArray],
// [ArrayBytes] or [BytesBytes], and [Register] a [Factory] under its name. A codec may
// also have powers, such as [Permuter] or [Trimmer], which save a chain work. Package
// codectest tests a codec against its contract.
//
// Functions such as [Zstd] and [Shards] specify a codec for a new array: they return its
// name and configuration. The codecs are in internal packages, which the root package
// imports.
//
// Elements in memory are in the byte order of the host.
package codec

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/sentinel"
	"varve.dev/zarr/internal/strided"
)

var (
	// ErrCorrupt means that stored bytes do not decode to what the metadata promises.
	// The chunk must be restored or written again. It is never read as fill value.
	ErrCorrupt = errors.New("corrupt data")
	// ErrChecksum means that a checksum does not match. It is an ErrCorrupt.
	ErrChecksum = checksumError{}
	// ErrUnsupported means that no codec is registered under a name, or that a codec does
	// not support its configuration.
	ErrUnsupported = sentinel.New("not supported", sentinel.ErrUnsupported)
	// ErrConfiguration means that the configuration of a codec is invalid, or does not
	// fit its place in the chain.
	ErrConfiguration = errors.New("invalid configuration")
	// ErrTooLong means that bytes decode to more than the permitted length. It is an
	// ErrCorrupt.
	ErrTooLong = tooLongError{}
	// ErrLimit means that something exceeds the limits.
	ErrLimit = errors.New("limit exceeded")
)

type checksumError struct{}

func (checksumError) Error() string        { return "codec: checksum does not match" }
func (checksumError) Is(target error) bool { return target == ErrCorrupt }

type tooLongError struct{}

func (tooLongError) Error() string        { return "codec: too many bytes" }
func (tooLongError) Is(target error) bool { return target == ErrCorrupt }

// Spec describes the arrays that a codec encodes and decodes. It is the same for all
// chunks of an array. The shape of a chunk comes with each call.
type Spec struct {
	Type dtype.Type // data type of the elements
	Fill []byte     // fill value: one element in host byte order
	Rank int        // number of axes
}

// Block is a decoded chunk: elements in C order.
type Block struct {
	// Shape has the length of every axis in elements.
	Shape []int64
	// Data holds the elements in host byte order.
	Data []byte
	// Offsets is nil if elements have a fixed width. Otherwise it has one entry more than
	// there are elements, and element i is Data[Offsets[i]:Offsets[i+1]].
	Offsets []int64
	// Heap replaces Offsets in array-to-array codecs and in codecs with inner chunks:
	// they only move elements that differ in length. Data then has a reference to each.
	Heap *strided.Heap
}

// ArrayArray is a codec that turns an array into another array.
type ArrayArray interface {
	// Bind checks that arrays of spec can be coded, and returns the spec of the encoded
	// arrays. It is called once, before any other method.
	Bind(spec Spec) (Spec, error)
	// EncodedShape appends to dst the shape that an array of the given shape has when it
	// is encoded.
	EncodedShape(dst, shape []int64) ([]int64, error)
	// Encode fills dst with the encoded form of src. The shape of dst is set, and its
	// data has the exact size.
	Encode(dst *Block, src Block) error
	// Decode fills dst with the decoded form of src. The shape of dst is set, and its
	// data has the exact size.
	Decode(dst *Block, src Block) error
}

// ArrayBytes is a codec that turns an array into bytes.
type ArrayBytes interface {
	// Bind checks that arrays of spec can be coded. It is called once, before any other
	// method.
	Bind(spec Spec) error
	// EncodedSize returns the largest size in bytes to which an array of the given shape,
	// with n bytes of data, encodes. fixed reports whether the size is always the same.
	EncodedSize(shape []int64, n int64) (size int64, fixed bool)
	// Encode appends the encoded form of src to dst and returns the extended slice.
	Encode(dst []byte, src Block) ([]byte, error)
	// Decode fills dst with the decoded form of src, which it must not change. The shape
	// of dst is set. If elements have a fixed width, its data has the exact size;
	// otherwise Decode appends to its data and offsets. It returns ErrCorrupt unless src
	// holds exactly the elements of the shape, if an [Uncounted] codec can detect
	// it.
	Decode(dst *Block, src []byte) error
}

// BytesBytes is a codec that turns bytes into other bytes. Its methods are safe for
// concurrent use.
type BytesBytes interface {
	// MaxEncoded returns the largest size in bytes of n encoded bytes in any sensible
	// encoding, including those of other programs. Longer values are refused before they
	// are read.
	MaxEncoded(n int64) int64
	// Encode appends the encoded form of src to dst and returns the extended slice.
	Encode(dst, src []byte) ([]byte, error)
	// Decode appends the decoded form of src to dst and returns the extended slice. The
	// caller guarantees cap(dst)-len(dst) >= most, and Decode allocates no memory in
	// proportion to what a header claims.
	//
	// It returns [ErrTooLong] if src decodes to more than most bytes. A chain that does
	// not know the length in advance, as for text, tries again with more. It returns
	// [ErrCorrupt] or [ErrChecksum] if src is damaged, truncated, or followed by
	// anything.
	Decode(dst, src []byte, most int64) ([]byte, error)
}

// Fault is one fault of a stored chunk.
type Fault struct {
	// Inner leads to the inner chunk at fault: its index in the chunk, then the index of
	// an inner chunk of that, and so on. It is empty if the chunk has no inner chunks, or
	// if its own index is damaged.
	Inner [][]int64
	// Off and Len are the range at fault, in bytes from the start of the stored chunk.
	// If a shard index points outside the chunk, they are its values, at most 2^63-1.
	Off, Len int64
	// Shared is set if the range also belongs to another inner chunk and nothing else is
	// wrong. Readers are not affected. A writer that overwrites the range in place would
	// change both inner chunks. Compacting the chunk repairs it.
	Shared bool
	// Err is the reason. Unless Shared is set, it wraps [ErrCorrupt], or [ErrLimit] if
	// the chunk is too large to be checked. A check of many chunks that continues after a
	// failed read reports the error of the store.
	Err error
}

// Error returns where the fault is, and what is wrong.
func (f Fault) Error() string {
	if len(f.Inner) == 0 {
		return f.Err.Error()
	}
	return fmt.Sprintf("inner chunk %v (%s from byte %d on): %v", f.Inner, quantity.Count(f.Len, "bytes"), f.Off, f.Err)
}

// Unwrap returns Err.
func (f Fault) Unwrap() error { return f.Err }

// Check is the result of checking one stored chunk.
type Check struct {
	Bytes  int64   // length of the stored chunk
	Inner  int64   // stored inner chunks, not counting those inside inner chunks
	Dead   int64   // bytes that belong to no inner chunk and no index, nested ones included
	Faults []Fault // the first faults, at most 1000
	More   int64   // number of further faults
}

// Powers are optional interfaces of codecs. The chain of codecs of an array looks for
// them when the array is opened.

// Binder is the power of a [BytesBytes] codec to adapt to the arrays that its bytes
// encode. A codec that reorders the bytes of elements needs it.
type Binder interface {
	// Bind is called once, before any other method, with the arrays that the
	// array-to-bytes codec of the chain encodes. If the codec cannot work for them, the
	// error wraps [ErrConfiguration].
	Bind(spec Spec) error
}

// Claimer is the power of a [BytesBytes] codec whose encoded form states its decoded
// length.
type Claimer interface {
	// Claim returns the stated length in bytes. ok is false if src states none, or one
	// that cannot be true. Decode checks the length.
	Claim(src []byte) (n int64, ok bool)
}

// Guarded is the power of a codec whose encoded form may have a checksum of its content.
type Guarded interface {
	// Guarded reports, after Bind, whether Decode finds damage of the encoded form that
	// changes its content.
	Guarded() bool
}

// Permuter is the power of an [ArrayArray] codec that only reorders axes. The chain then
// reads through strides and copies nothing.
type Permuter interface {
	// Order returns the axes of the decoded array in the order of the encoded array.
	Order() []int
}

// Transparent is the power of an [ArrayBytes] codec whose bytes may be the elements in
// host byte order, unchanged. The chain then decodes straight into the destination and
// encodes straight from the source.
type Transparent interface {
	// Transparent reports, after Bind, whether encoded and decoded bytes are the same.
	Transparent() bool
}

// Trimmer is the power of a [BytesBytes] codec whose encoded form contains the decoded
// bytes unchanged, as that of a checksum does. It is always MaxEncoded bytes long. The
// chain then uses the bytes in place.
type Trimmer interface {
	// Trim checks src as Decode does, and returns the range of it that is the decoded
	// bytes.
	Trim(src []byte) ([]byte, error)
}

// Uncounted is the power of an [ArrayBytes] codec whose stored bytes do not always
// determine the number of elements, for example because elements share a byte.
type Uncounted interface {
	// Uncounted reports, after Bind, whether blocks of different numbers of elements may
	// encode to the same number of bytes. Decode then takes one for the other.
	Uncounted() bool
}

// RangeDecoder is the power of a [BytesBytes] codec to decode a range of the bytes with
// less work than all of them.
type RangeDecoder interface {
	// DecodeRange fills dst with the decoded bytes from off on. src must decode to
	// exactly size bytes, which contain the range, or DecodeRange returns [ErrCorrupt].
	// It may miss damage that does not affect the range.
	DecodeRange(dst, src []byte, off, size int64) error
}

// ReadAll appends all bytes of r to dst, which must have the capacity for most bytes. It
// is for codecs whose decoder is an [io.Reader]. If r has more than most bytes, the error
// wraps [ErrTooLong]. Other errors are those of r.
func ReadAll(dst []byte, r io.Reader, most int) ([]byte, error) {
	limit := len(dst) + most
	for len(dst) < limit {
		n, err := r.Read(dst[len(dst):limit])
		dst = dst[:len(dst)+n]
		if err != nil {
			return dst, ended(err)
		}
	}
	// dst is full. Any further byte is too much.
	one := ones.Get().(*[1]byte)
	defer ones.Put(one)
	for {
		switch n, err := r.Read(one[:]); {
		case n > 0:
			return dst, fmt.Errorf("%w: it decodes to more than %s", ErrTooLong, quantity.Count(most, "bytes"))
		case err != nil:
			return dst, ended(err)
		}
	}
}

// ones are buffers for the byte after the last, which should not come.
var ones = sync.Pool{New: func() any { return new([1]byte) }}

// ended returns err, or nil for io.EOF.
func ended(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
