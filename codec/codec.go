// Package codec is the contract between Varve and the codecs that turn chunks into bytes.
//
// A chain has three parts (zarr-specs v3 core, "Codecs"): any number of array-to-array
// codecs, exactly one array-to-bytes codec, and any number of bytes-to-bytes codecs. An
// implementer writes one small interface, [ArrayArray], [ArrayBytes] or [BytesBytes], and
// registers a [Factory] under the codec's name; package codectest makes the contract
// true. Nothing compresses here: every codec has a package of its own.
//
// A [Chain] is made from an array's metadata once, when the array is opened, and checked
// then; coding a chunk does no further look-ups. Elements in memory are in the byte order
// of the host.
package codec

import (
	"errors"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/sentinel"
	"varve.dev/zarr/strided"
)

var (
	// ErrCorrupt says that stored bytes do not decode to what the metadata promises.
	// The chunk has to be restored or written anew; it is never read as fill value.
	ErrCorrupt = errors.New("codec: corrupt data")
	// ErrChecksum is the ErrCorrupt of a checksum that does not match.
	ErrChecksum = checksumError{}
	// ErrUnsupported says that no codec is registered under a name, or that one cannot do
	// what its configuration asks.
	ErrUnsupported = sentinel.New("codec: not supported", sentinel.Unsupported)
	// ErrConfiguration says that the configuration of a codec is not valid, or does not
	// fit its place in the chain.
	ErrConfiguration = errors.New("codec: invalid configuration")
	// ErrTooLong is the ErrCorrupt of bytes that decode to more than there may be.
	ErrTooLong = tooLongError{}
	// ErrLimit says that something is larger than the limits allow.
	ErrLimit = errors.New("limit exceeded")
	// ErrRoom says that elements that differ in length have more bytes than their heap
	// has room for ([strided.Heap.Room]). Nothing is wrong with what is stored: who can give
	// them more room decodes it again.
	ErrRoom = errors.New("codec: no room")
)

type checksumError struct{}

func (checksumError) Error() string        { return "codec: checksum does not match" }
func (checksumError) Is(target error) bool { return target == ErrCorrupt }

type tooLongError struct{}

func (tooLongError) Error() string        { return "codec: too many bytes" }
func (tooLongError) Is(target error) bool { return target == ErrCorrupt }

// Spec is what a codec has to know of the arrays that it is given. It is the same for all
// chunks of an array: their shapes differ and come with each call.
type Spec struct {
	Type dtype.Type // data type of the elements
	Fill []byte     // fill value: one element in host byte order
	Rank int        // number of axes
}

// Width returns the bytes that an element takes in a [Block]: the size of its type, or of
// a reference where elements differ in length.
func (s Spec) Width() int {
	if s.Type.Variable() {
		return strided.RefSize
	}
	return s.Type.Size()
}

// Heap returns an empty heap for the elements of a block, nil where they are of one
// width.
func (s Spec) Heap() *strided.Heap {
	if s.Type.Variable() {
		return strided.NewHeap(s.Fill)
	}
	return nil
}

// Element returns the fill value as it stands in a block: itself, or a reference to it.
func (s Spec) Element() []byte {
	if s.Type.Variable() {
		return strided.NewHeap(s.Fill).Fill()
	}
	return s.Fill
}

// Block is a decoded chunk: elements in C order.
type Block struct {
	// Shape has the length of every axis in elements.
	Shape []int64
	// Data holds the elements in host byte order.
	Data []byte
	// Offsets is nil where elements have a fixed width. Otherwise it has one entry more
	// than there are elements, and element i is Data[Offsets[i]:Offsets[i+1]].
	Offsets []int64
	// Heap is there in place of Offsets where elements differ in length and a codec only
	// moves them: one that turns arrays into arrays, or a [Divider]. Data then has a
	// reference to each.
	Heap *strided.Heap
}

// ArrayArray is a codec that turns an array into another array.
type ArrayArray interface {
	// Bind checks that arrays of spec can be coded and returns the spec of the encoded
	// arrays. It is called once, before any other method.
	Bind(spec Spec) (Spec, error)
	// EncodedShape appends the shape of the encoded form of an array of the given shape
	// to dst.
	EncodedShape(dst, shape []int64) ([]int64, error)
	// Encode fills dst, whose Shape is set and whose Data has the exact size, with the
	// encoded form of src.
	Encode(dst *Block, src Block) error
	// Decode fills dst, whose Shape is set and whose Data has the exact size, with the
	// decoded form of src.
	Decode(dst *Block, src Block) error
}

// Permuter is the power of an [ArrayArray] codec that does nothing but reorder axes.
// The chain then reads through strides and never copies for it.
type Permuter interface {
	// Order returns, for every axis of the encoded array, the axis of the decoded array
	// that it is.
	Order() []int
}

// ArrayBytes is a codec that turns an array into bytes.
type ArrayBytes interface {
	// Bind checks that arrays of spec can be coded. It is called once, before any other
	// method.
	Bind(spec Spec) error
	// EncodedSize returns the most bytes that an array of the given shape, with n bytes
	// of data, encodes to, and whether it is always just that many.
	EncodedSize(shape []int64, n int64) (size int64, fixed bool)
	// Encode appends the encoded form of src to dst and returns the extended slice.
	Encode(dst []byte, src Block) ([]byte, error)
	// Decode fills dst with the decoded form of src, which it must not change. Shape is
	// set; where elements have a fixed width Data has the exact size, else Data and
	// Offsets are to be appended to. A src that holds anything but exactly that many
	// elements is ErrCorrupt; an [Uncounted] codec says where it cannot tell.
	Decode(dst *Block, src []byte) error
}

// Uncounted is the power of an [ArrayBytes] codec to say that it cannot always tell how
// many elements stored bytes hold, as where several share a byte and nothing counts them.
type Uncounted interface {
	// Uncounted reports, after Bind, whether blocks of different numbers of elements may
	// encode to the same number of bytes. Decode then reads one as the other.
	Uncounted() bool
}

// Transparent is the power of an [ArrayBytes] codec whose bytes may be the elements in
// host byte order, unchanged. The chain then decodes straight into the destination and
// encodes straight from the source.
type Transparent interface {
	// Transparent reports, after Bind, whether encoded and decoded bytes are the same.
	Transparent() bool
}

// BytesBytes is a codec that turns bytes into other bytes.
// Its methods may be called from several goroutines at once.
type BytesBytes interface {
	// MaxEncoded returns the most bytes that n decoded bytes take in any sensible
	// encoding, other writers' included. Longer values are refused before they are read.
	MaxEncoded(n int64) int64
	// Encode appends the encoded form of src to dst and returns the extended slice.
	Encode(dst, src []byte) ([]byte, error)
	// Decode appends the decoded form of src to dst and returns the extended slice. The
	// caller guarantees cap(dst)-len(dst) >= most. A src that decodes to more than most
	// bytes, that is truncated, or that is followed by anything, is ErrCorrupt (or
	// ErrChecksum); no memory beyond dst grows with the claim of a header. More than most
	// bytes are [ErrTooLong]: where nobody knows how many there are, as of text, the
	// chain then tries again with more.
	Decode(dst, src []byte, most int64) ([]byte, error)
}

// Claimer is the power of a [BytesBytes] codec whose encoded form says how many bytes it
// decodes to.
type Claimer interface {
	// Claim returns what src says, and whether it says anything that may be true. Decode
	// finds out whether it is.
	Claim(src []byte) (n int64, ok bool)
}

// Overwriter is the power of an [ArrayBytes] codec of elements that differ in length to
// decode them in the memory of their encoded form.
type Overwriter interface {
	// DecodeInPlace is Decode with Data empty; src becomes what Data is made of, and must
	// not be used again.
	DecodeInPlace(dst *Block, src []byte) error
}

// HeapEncoder is the power of an [ArrayBytes] codec of elements that differ in length to
// encode them from where they are, so that the chain does not put them in a row first.
type HeapEncoder interface {
	// EncodeHeap appends to dst what Encode does. src has references in Data, and a Heap
	// in place of Offsets.
	EncodeHeap(dst []byte, src Block) ([]byte, error)
}

// Binder is the power of a [BytesBytes] codec that has to know what its bytes stand for,
// as one has that moves the bytes of elements around.
type Binder interface {
	// Bind is called once, before any other method, with the arrays that the
	// array-to-bytes codec of the chain is given. It refuses those that the codec cannot
	// work for with an error that wraps [ErrConfiguration].
	Bind(spec Spec) error
}

// Trimmer is the power of a [BytesBytes] codec whose encoded form holds the decoded bytes
// as they are, as that of a checksum does, and is always MaxEncoded bytes long. The chain
// then reads them where they stand.
type Trimmer interface {
	// Trim checks src as Decode does and returns the part of it that is the decoded
	// bytes.
	Trim(src []byte) ([]byte, error)
}

// Validator is the power of a [Transparent] codec to refuse bytes that are no value of
// the data type (a bool that is neither 0 nor 1). The chain calls it where it went past
// Decode.
type Validator interface {
	Validate(data []byte) error
}
