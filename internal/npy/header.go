// SPDX-License-Identifier: Apache-2.0

package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/strided"
)

// ErrInvalid means that a file is not a .npy file, or that its header is malformed.
var ErrInvalid = errors.New("invalid .npy file")

const (
	magic = "\x93NUMPY"
	// maxHeader bounds the size of the dictionary in bytes. A header of 64 axes has
	// about 1,500, one of 4096 fields 100,000.
	maxHeader = 1 << 20
	// alignment is the alignment of the first element in bytes.
	alignment = 64
)

// Header describes the elements of a .npy file.
type Header struct {
	Type      dtype.Type
	BigEndian bool // the numbers have their most significant byte first
	Fortran   bool // the first axis varies fastest
	Shape     []int64
}

// Bytes returns the size of the elements in bytes, and whether it fits into int64.
func (h Header) Bytes() (int64, bool) {
	n, ok := checked.Product(h.Shape...)
	if !ok {
		return 0, false
	}
	return checked.Mul(n, int64(h.Type.Size()))
}

// ReadHeader reads a header and leaves r at the first element. If the file is damaged or
// not a .npy file, the error wraps [ErrInvalid]. If Varve has no such data type, as for
// objects and structures with gaps, it wraps [dtype.ErrUnsupported].
func ReadHeader(r io.Reader) (Header, error) {
	var start [len(magic) + 2]byte
	n, err := io.ReadFull(r, start[:])
	if k := min(n, len(magic)); string(start[:k]) != magic[:k] {
		return Header{}, fmt.Errorf("%w: it does not begin with the magic number of .npy", ErrInvalid)
	}
	if err != nil {
		return Header{}, truncated(err)
	}
	length, err := readLength(r, start[len(magic)])
	if err != nil {
		return Header{}, err
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return Header{}, truncated(err)
	}
	return parse(decoded(text, start[len(magic)]))
}

// decoded returns the dictionary as UTF-8. Before version 3.0 it is Latin-1.
func decoded(text []byte, version byte) string {
	if version >= 3 {
		return strings.ToValidUTF8(string(text), "\ufffd")
	}
	runes := make([]rune, len(text))
	for i, b := range text {
		runes[i] = rune(b)
	}
	return string(runes)
}

// readLength reads the size of the dictionary in bytes.
func readLength(r io.Reader, version byte) (int, error) {
	var field [4]byte
	var width int
	switch version {
	case 1:
		width = 2
	case 2, 3:
		width = 4
	default:
		return 0, fmt.Errorf("%w: format version %d; 1, 2 and 3 are known", ErrInvalid, version)
	}
	if _, err := io.ReadFull(r, field[:width]); err != nil {
		return 0, truncated(err)
	}
	length := binary.LittleEndian.Uint32(field[:])
	// Check before allocating: the length comes from the file.
	if length > maxHeader {
		return 0, fmt.Errorf("%w: a header of %d bytes, at most %d are read", ErrInvalid, length, maxHeader)
	}
	return int(length), nil
}

// truncated returns ErrInvalid at the end of the file, and other errors of the reader
// unchanged.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends within the header", ErrInvalid)
	}
	return fmt.Errorf("npy: read the header: %w", err)
}

// Append appends the header at the start of a file, padded as NumPy does. The version is
// 1.0, 2.0 for a long header, or 3.0 if names of fields are not ASCII. Elements of types
// that NumPy lacks, which [Header.Check] refuses, become plain bytes.
func (h Header) Append(dst []byte) []byte {
	text := appendDescr([]byte("{'descr': "), h.Type, h.BigEndian)
	text = append(text, ", 'fortran_order': "...)
	if h.Fortran {
		text = append(text, "True"...)
	} else {
		text = append(text, "False"...)
	}
	text = append(appendTuple(append(text, ", 'shape': "...), h.Shape), ", }"...)
	version, width := byte(1), 2
	// Version 1.0 has a length of 16 bits. Leave room for the padding.
	if len(text)+2*alignment > math.MaxUint16 {
		version, width = 2, 4
	}
	if strings.ContainsFunc(string(text), func(r rune) bool { return r > unicode.MaxASCII }) {
		version, width = 3, 4
	}
	before := len(magic) + 2 + width
	// NumPy pads with spaces before the final newline, so that the elements are aligned
	// if the file is mapped into memory.
	padding := alignment - 1 - (before+len(text))%alignment
	length := uint32(len(text) + padding + 1)
	dst = append(append(dst, magic...), version, 0)
	dst = append(dst, binary.LittleEndian.AppendUint32(nil, length)[:width]...)
	dst = append(append(dst, text...), bytes.Repeat([]byte{' '}, padding)...)
	return append(dst, '\n')
}

func appendTuple(dst []byte, numbers []int64) []byte {
	dst = append(dst, '(')
	for i, n := range numbers {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = strconv.AppendInt(dst, n, 10)
		// A tuple of one number needs a comma.
		if i < len(numbers)-1 || i == 0 {
			dst = append(dst, ',')
		}
	}
	return append(dst, ')')
}

// Swapped reports whether the byte order differs from that of the host.
func (h Header) Swapped() bool {
	return h.Type.Ordered() && h.BigEndian == dtype.LittleEndian()
}

// Arrange returns the elements of the file, all [Header.Bytes] of them, in C order and
// host byte order. It changes data, and returns it if possible.
func (h Header) Arrange(data []byte) []byte {
	if h.Swapped() {
		h.Type.Swap(data, data)
	}
	if !h.Fortran || len(h.Shape) < 2 {
		return data
	}
	size := h.Type.Size()
	strides := make([]int64, len(h.Shape))
	// In Fortran order the first axis has the smallest stride.
	step := int64(size)
	for i, n := range h.Shape {
		strides[i] = step
		step *= n
	}
	out := make([]byte, len(data))
	strided.Copy(strided.Contiguous(out, h.Shape, size), strided.View{Data: data, Shape: h.Shape, Strides: strides, Size: size})
	return out
}
