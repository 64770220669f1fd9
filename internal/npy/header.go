package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

// ErrInvalid says that a file is no .npy file, or that its header is malformed.
var ErrInvalid = errors.New("npy: invalid file")

const (
	magic = "\x93NUMPY"
	// maxHeader is the most bytes of the dictionary. A header of 64 axes has about 1,500.
	maxHeader = 1 << 16
	// alignment is what the beginning of the elements is a multiple of, in bytes.
	alignment = 64
)

// Header describes the elements of a .npy file.
type Header struct {
	Type      dtype.Type
	BigEndian bool // the numbers have their most significant byte first
	Fortran   bool // the first axis varies fastest
	Shape     []int64
}

// Bytes returns how many bytes the elements take, and whether that number fits into 64 bits.
func (h Header) Bytes() (int64, bool) {
	n, ok := checked.Product(h.Shape...)
	if !ok {
		return 0, false
	}
	return checked.Mul(n, int64(h.Type.Size()))
}

// ReadHeader reads a header and leaves r at the first element. A file that is no .npy file or damaged wraps [ErrInvalid],
// a data type without counterpart, as a text, a date or a structure, wraps [dtype.ErrUnsupported].
func ReadHeader(r io.Reader) (Header, error) {
	var start [len(magic) + 2]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return Header{}, truncated(err)
	}
	if string(start[:len(magic)]) != magic {
		return Header{}, fmt.Errorf("%w: it does not begin with the magic number of .npy", ErrInvalid)
	}
	length, err := readLength(r, start[len(magic)])
	if err != nil {
		return Header{}, err
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return Header{}, truncated(err)
	}
	return parse(string(text))
}

// readLength reads the length of the dictionary in bytes.
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
	if length > maxHeader {
		return 0, fmt.Errorf("%w: a header of %d bytes, at most %d are read", ErrInvalid, length, maxHeader)
	}
	return int(length), nil
}

// truncated tells the end of the file from an error of the reader.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends within the header", ErrInvalid)
	}
	return fmt.Errorf("npy: read the header: %w", err)
}

// Append appends the header as the beginning of a file, in format version 1.0 and padded as NumPy does.
// The type must not be the zero Type.
func (h Header) Append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, magic+"\x01\x00\x00\x00"...)
	dst = append(dst, "{'descr': '"...)
	descr, _ := h.Type.NumPy()
	if h.BigEndian && h.Type.Ordered() {
		descr = ">" + descr[1:]
	}
	dst = append(dst, descr...)
	dst = append(dst, "', 'fortran_order': "...)
	if h.Fortran {
		dst = append(dst, "True"...)
	} else {
		dst = append(dst, "False"...)
	}
	dst = append(dst, ", 'shape': "...)
	dst = appendTuple(dst, h.Shape)
	dst = append(dst, ", }"...)
	for (len(dst)-start+1)%alignment != 0 {
		dst = append(dst, ' ')
	}
	dst = append(dst, '\n')
	fixed := len(magic) + 4
	binary.LittleEndian.PutUint16(dst[start+fixed-2:], uint16(len(dst)-start-fixed))
	return dst
}

func appendTuple(dst []byte, numbers []int64) []byte {
	dst = append(dst, '(')
	for i, n := range numbers {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = strconv.AppendInt(dst, n, 10)
		if i < len(numbers)-1 || i == 0 {
			dst = append(dst, ',')
		}
	}
	return append(dst, ')')
}

// Swapped reports whether the numbers are in the other byte order than the host's.
func (h Header) Swapped() bool {
	return h.Type.Ordered() && h.BigEndian == dtype.LittleEndian()
}

// Arrange returns the elements of the file, all [Header.Bytes] of them, in C order and host byte order.
// It changes data, and returns it where it can.
func (h Header) Arrange(data []byte) []byte {
	if h.Swapped() {
		h.Type.Swap(data, data)
	}
	if !h.Fortran || len(h.Shape) < 2 {
		return data
	}
	size := h.Type.Size()
	strides := make([]int64, len(h.Shape))
	step := int64(size)
	for i, n := range h.Shape {
		strides[i] = step
		step *= n
	}
	out := make([]byte, len(data))
	grid.Copy(grid.Contiguous(out, h.Shape, size), grid.View{Data: data, Shape: h.Shape, Strides: strides, Size: size})
	return out
}
