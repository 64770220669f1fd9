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

	"varve.dev/zarr/dtype"
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
