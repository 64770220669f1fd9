// SPDX-License-Identifier: Apache-2.0

package codec

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
