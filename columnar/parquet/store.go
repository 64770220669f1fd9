// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"
	"math"
	"math/big"

	"varve.dev/zarr/columnar"
)

// storage is how the values of a column are written.
type storage struct {
	field    schemaElement
	physical int64
	width    int // of a stored value in bytes, with a byte for a Boolean, or 0 for byte arrays
	order    order
	element  columnar.Type
	// store makes stored values of elements. nil if they are the same.
	store func(dst, src []byte) error
}

// order is the order of values in statistics.
type order uint8

const (
	orderSigned order = iota // of 4 or 8 bytes
	orderUnsigned
	orderFloat  // of 2, 4 or 8 bytes
	orderBig    // signed and big endian
	orderBytes  // lexicographic
	orderBinary // no order that is written
)

// newStorage returns how elements of a type are written.
func newStorage(t columnar.Type) (*storage, error) {
	s := &storage{element: t, width: t.Bytes(), physical: physicalInt64}
	f := &s.field
	f.converted = -1
	logical := func(l logicalType, converted int64) { f.logical, f.converted = l, converted }
	switch k := t.Kind; k {
	case columnar.Bool:
		s.physical, s.order = physicalBoolean, orderBytes
	case columnar.Int8, columnar.Int16, columnar.Uint8, columnar.Uint16, columnar.Uint32, columnar.Uint64:
		signed, log := k < columnar.Uint8, int64(k-columnar.Uint8)
		first := int64(convertedUint8)
		if signed {
			log, first = int64(k-columnar.Int8), convertedInt8
		} else {
			s.order = orderUnsigned
		}
		logical(logicalType{number: logicalInteger, width: 8 << log, signed: flagOf(signed)}, first+log)
		if k != columnar.Uint64 {
			s.physical, s.width = physicalInt32, 4
		}
		if log < 2 {
			s.store = widen(1<<log, signed)
		}
	case columnar.Int32:
		s.physical = physicalInt32
	case columnar.Int64, columnar.Duration:
	case columnar.Float16:
		s.physical, s.order = physicalFixed, orderFloat
		logical(logicalType{number: logicalFloat16}, -1)
	case columnar.Float32:
		s.physical, s.order = physicalFloat, orderFloat
	case columnar.Float64:
		s.physical, s.order = physicalDouble, orderFloat
	case columnar.String:
		s.physical, s.order = physicalByteArray, orderBytes
		logical(logicalType{number: logicalString}, convertedUTF8)
	case columnar.Binary:
		s.physical, s.order = physicalByteArray, orderBytes
	case columnar.FixedBinary:
		if t.Width < 1 || t.Width > math.MaxInt32 {
			return nil, unsupportedf("values of %d bytes", t.Width)
		}
		s.physical, s.order = physicalFixed, orderBytes
	case columnar.Date:
		s.physical = physicalInt32
		logical(logicalType{number: logicalDate}, convertedDate)
	case columnar.Timestamp, columnar.Time:
		return s, s.setTime(t)
	case columnar.Decimal:
		return s, s.setDecimal(t)
	default:
		return nil, unsupportedf("columns of type %v", t)
	}
	f.physical = s.physical
	if s.physical == physicalFixed {
		f.length = int64(s.width)
	}
	return s, nil
}

// setTime sets the storage of a timestamp or a time. Parquet has no seconds, and has
// milliseconds of the day in 32 bits.
func (s *storage) setTime(t columnar.Type) error {
	unit := max(t.Unit, columnar.Millisecond)
	s.field.logical = logicalType{number: logicalTimestamp, unit: int16(unit), utc: flagOf(t.UTC)}
	if t.Kind == columnar.Timestamp {
		// Converted types stand for moments.
		if t.UTC && unit < columnar.Nanosecond {
			s.field.converted = convertedTimestampMillis + int64(unit-columnar.Millisecond)
		}
		if t.Unit == columnar.Second {
			s.store = storeSeconds
		}
	} else {
		s.field.logical.number, s.field.logical.utc = logicalTime, no
		if unit == columnar.Millisecond {
			s.physical, s.width = physicalInt32, 4
			s.store = storeTimes(t.Unit)
		}
	}
	s.field.physical = s.physical
	return nil
}

// setDecimal sets the storage of decimal numbers: the fewest bytes that have all digits.
func (s *storage) setDecimal(t columnar.Type) error {
	if t.Precision < 1 || t.Precision > 38 || t.Scale < 0 || t.Scale > t.Precision {
		return unsupportedf("columns of type %v", t)
	}
	most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(t.Precision)), nil)
	s.width = most.BitLen()/8 + 1 // 10^n is no power of two, so one bit is for the sign
	s.physical, s.order = physicalFixed, orderBig
	s.field.physical, s.field.length = physicalFixed, int64(s.width)
	s.field.scale, s.field.precision = int64(t.Scale), int64(t.Precision)
	s.field.converted = convertedDecimal
	s.field.logical = logicalType{number: logicalDecimal, scale: int64(t.Scale), precision: int64(t.Precision)}
	s.store = func(dst, src []byte) error {
		for ; len(src) > 0; dst, src = dst[s.width:], src[16:] {
			for i := range s.width {
				dst[s.width-1-i] = src[i]
			}
			// What is left out repeats the sign.
			sign := byte(int8(src[s.width-1]) >> 7)
			for _, b := range src[s.width:16] {
				if b != sign {
					return errRange("a decimal number with more digits than its type")
				}
			}
		}
		return nil
	}
	return nil
}

func errRange(what string) error { return unsupportedf("%s", what) }

// widen returns what stores integers of one or two bytes in four.
func widen(bytes int, signed bool) func(dst, src []byte) error {
	return func(dst, src []byte) error {
		for ; len(src) > 0; dst, src = dst[4:], src[bytes:] {
			x := uint32(src[0])
			shift := 24
			if bytes == 2 {
				x |= uint32(src[1]) << 8
				shift = 16
			}
			if signed {
				x = uint32(int32(x<<shift) >> shift)
			}
			binary.LittleEndian.PutUint32(dst, x)
		}
		return nil
	}
}

// storeSeconds makes milliseconds of seconds.
func storeSeconds(dst, src []byte) error {
	for ; len(src) > 0; dst, src = dst[8:], src[8:] {
		x := int64(binary.LittleEndian.Uint64(src))
		if x > math.MaxInt64/1000 || x < math.MinInt64/1000 {
			return errRange("a timestamp in seconds, which milliseconds of 64 bits cannot have")
		}
		binary.LittleEndian.PutUint64(dst, uint64(x*1000))
	}
	return nil
}

// storeTimes returns what makes milliseconds of 32 bits of times in seconds or
// milliseconds.
func storeTimes(u columnar.Unit) func(dst, src []byte) error {
	factor := int64(1)
	if u == columnar.Second {
		factor = 1000
	}
	return func(dst, src []byte) error {
		for ; len(src) > 0; dst, src = dst[4:], src[8:] {
			x := int64(binary.LittleEndian.Uint64(src))
			if x > math.MaxInt32/factor || x < math.MinInt32/factor {
				return errRange("a time, which milliseconds of 32 bits cannot have")
			}
			binary.LittleEndian.PutUint32(dst, uint32(x*factor))
		}
		return nil
	}
}
