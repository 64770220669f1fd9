// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/sentinel"
	"varve.dev/zarr/metadata"
)

// ErrUnsupported means that a file, or an array in it, is valid but has something that
// Zarr or this program cannot express.
var ErrUnsupported = sentinel.New("not supported", sentinel.ErrUnsupported)

// ErrCorrupt means that a file is damaged or is not of the format that its first bytes
// promise.
var ErrCorrupt = errors.New("damaged file")

// Corruptf returns an [ErrCorrupt] with a reason.
func Corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// Unsupportedf returns an [ErrUnsupported] with a reason.
func Unsupportedf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}

// Dataset is what a scanner has found in a file: a tree of groups and arrays.
type Dataset struct {
	// Format names the format, such as "NetCDF-3 classic".
	Format string
	// Groups are the groups by path, the root "" first, each before those below it.
	Groups []Group
	// Arrays are in the order of the file.
	Arrays []*Array
	// Omitted lists the other parts of the file that the data set lacks, with the
	// reasons. Users see them beside the arrays that are refused.
	Omitted []Omission
}

// Omission is a part of a file that is no array, and that the data set does not have:
// such as a link that leads nowhere, an attribute, or planes behind an image.
type Omission struct {
	// Path is that of the object in the file. An attribute follows that of its node after
	// a colon, as in "forecast/t2m:valid_range".
	Path   string
	Reason error // wraps [ErrUnsupported] or [ErrCorrupt]
}

// Omit adds an omission, with a reason that wraps [ErrUnsupported].
func (d *Dataset) Omit(path, format string, args ...any) {
	d.Omitted = append(d.Omitted, Omission{path, Unsupportedf(format, args...)})
}

// Group is a group of a data set.
type Group struct {
	Path       string // "" for the root, or such as "forecast/members"
	Attributes Attributes
}

// Array is an array of a data set. Its chunks are all of one shape; those at the upper
// edges may be short.
type Array struct {
	Path  string // such as "forecast/t2m"
	Shape []int64
	// Chunk is the shape of a chunk in elements. It has positive lengths, and may be
	// larger than the array.
	Chunk []int64
	// Short says that chunks at the upper edges hold only elements of the array. Without
	// it every chunk holds the elements of a whole one, and those beyond the array are
	// padding.
	Short bool
	Type  dtype.Type
	// Fill is the value of elements in chunks that the file lacks, as one element in host
	// byte order. Nil is zero.
	Fill []byte
	// Codecs are in the order of encoding; the first one makes bytes of an array.
	Codecs []metadata.Extension
	// Names are the names of the dimensions, "" for one without a name. Nil if no
	// dimension has one.
	Names      []string
	Attributes Attributes
	// Points are the places of the array along axes that it lacks, in the order of axes.
	Points []Point
	// Chunks are the chunks that the file has, in any order. None is there twice.
	Chunks []Chunk
	// Refused is why the array cannot be referenced, or nil. It wraps [ErrUnsupported],
	// or [ErrCorrupt] if only this array is damaged. Only Path and what is known of the
	// other fields are set then.
	Refused error
}

// Point is the place of an array along an axis that it lacks, because it has one value
// there: a field of a forecast is of one time. If files are joined along the axis, the
// array gets it, with chunks of one element.
type Point struct {
	// Axis is the number that the axis would have.
	Axis int
	// Coordinate is an array of one element, in a chunk with Data. Its path is the name
	// of the axis.
	Coordinate *Array
	// Attributes are those of the array that say the same. An array with the axis does
	// not have them.
	Attributes []string
}

// Chunk says where a chunk is.
type Chunk struct {
	// Number counts the chunks of the array in C order: the last index runs fastest.
	Number int64
	// Offset and Length are the encoded bytes in the file.
	Offset, Length int64
	// Data are the encoded bytes if the file does not have them as they are, such as
	// values that lie in its header. Then Offset and Length are 0.
	Data []byte
}

// Count returns the number of chunks along every axis.
func (a *Array) Count() []int64 {
	n := make([]int64, len(a.Shape))
	for i := range n {
		n[i] = checked.CeilDiv(a.Shape[i], a.Chunk[i])
	}
	return n
}

// Attributes are the attributes of a node, in the order of the file.
type Attributes []Attribute

// Attribute is a name with a value: a string, a bool, a number, or a slice of one of
// these. Numbers have the types int8 to int64, uint8 to uint64, float32 and float64. A
// []any has values of any of these kinds, such as the rows of a matrix.
type Attribute struct {
	Name  string
	Value any
}

// Get returns the value of an attribute, or nil.
func (a Attributes) Get(name string) any {
	for _, x := range a {
		if x.Name == name {
			return x.Value
		}
	}
	return nil
}

// Set sets an attribute: it replaces the value of one with this name, or adds it.
func (a *Attributes) Set(name string, value any) {
	for i := range *a {
		if (*a)[i].Name == name {
			(*a)[i].Value = value
			return
		}
	}
	*a = append(*a, Attribute{name, value})
}

// JSON returns the attributes as a JSON object. Numbers keep their value: a float32 gets
// the shortest digits that mean it. NaN and infinities become the bare words that
// zarr-python writes.
func (a Attributes) JSON() ([]byte, error) {
	b := []byte{'{'}
	for i, x := range a {
		if i > 0 {
			b = append(b, ',')
		}
		// Built by hand: encoding/json has no NaN, and sorts the keys of maps.
		var err error
		b = appendText(b, x.Name)
		if b, err = appendValue(append(b, ':'), x.Value); err != nil {
			return nil, fmt.Errorf("attribute %q: %w", x.Name, err)
		}
	}
	return append(b, '}'), nil
}

func appendText(b []byte, s string) []byte {
	// Attributes of old files are often Latin-1, which JSON cannot express.
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd")
	}
	text, _ := json.Marshal(s) // a string is never refused
	return append(b, text...)
}

func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return appendText(b, v), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int8:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int16:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int32:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case uint8:
		return strconv.AppendUint(b, uint64(v), 10), nil
	case uint16:
		return strconv.AppendUint(b, uint64(v), 10), nil
	case uint32:
		return strconv.AppendUint(b, uint64(v), 10), nil
	case uint64:
		return strconv.AppendUint(b, v, 10), nil
	case float32:
		return appendFloat(b, float64(v), 32), nil
	case float64:
		return appendFloat(b, v, 64), nil
	case []string:
		return appendList(b, v)
	case []bool:
		return appendList(b, v)
	case []int8:
		return appendList(b, v)
	case []int16:
		return appendList(b, v)
	case []int32:
		return appendList(b, v)
	case []int64:
		return appendList(b, v)
	case []uint8:
		return appendList(b, v)
	case []uint16:
		return appendList(b, v)
	case []uint32:
		return appendList(b, v)
	case []uint64:
		return appendList(b, v)
	case []float32:
		return appendList(b, v)
	case []float64:
		return appendList(b, v)
	case []any:
		return appendList(b, v)
	}
	return nil, fmt.Errorf("%w: a value of the Go type %T", ErrUnsupported, v)
}

func appendList[T any](b []byte, list []T) (_ []byte, err error) {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendValue(b, v); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendFloat appends a number with a point or an exponent, so that readers see a float.
func appendFloat(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, "NaN"...)
	case math.IsInf(v, 1):
		return append(b, "Infinity"...)
	case math.IsInf(v, -1):
		return append(b, "-Infinity"...)
	}
	begin := len(b)
	b = strconv.AppendFloat(b, v, 'g', -1, bits)
	// A float of 1 would be read as an integer, and change its type in a copy.
	if !strings.ContainsAny(string(b[begin:]), ".e") {
		b = append(b, ".0"...)
	}
	return b
}

// Plain returns the codec of chunks that hold their elements one after the other, with
// the most significant byte of numbers first or last.
func Plain(t dtype.Type, bigEndian bool) metadata.Extension {
	switch {
	case !t.Ordered():
		// Elements of one byte need no byte order.
		return metadata.Extension{Name: "bytes"}
	case bigEndian:
		return metadata.Extension{Name: "bytes", Configuration: []byte(`{"endian":"big"}`)}
	}
	return metadata.Extension{Name: "bytes", Configuration: []byte(`{"endian":"little"}`)}
}
