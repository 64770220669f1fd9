// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"encoding/binary"
	"fmt"
	"math"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

// Location is the position of a checksum.
type Location string

// The locations.
const (
	Start Location = "start" // before the data
	End   Location = "end"   // after the data
)

// checksumSize is the length in bytes of each checksum. They are little-endian.
const checksumSize = 4

// checksum is a codec that stores a 32-bit checksum with the data.
type checksum struct {
	id    string
	start bool
	sum   func(data []byte) uint32
}

// registerChecksum registers a codec whose only member is the location of the checksum.
func registerChecksum(id string, usual Location, sum func([]byte) uint32, others ...string) {
	register(id, func(configuration []byte) (any, error) {
		c := struct {
			Location Location `json:"location"`
		}{usual}
		if err := decode(id, configuration, &c); err != nil {
			return nil, err
		}
		if c.Location != Start && c.Location != End {
			return nil, fmt.Errorf("%w: %s: location %q is neither %q nor %q", codec.ErrConfiguration, id, c.Location, Start, End)
		}
		return checksum{id, c.Location == Start, sum}, nil
	}, others...)
}

// located returns the metadata of a checksum. It omits an empty location, which means the
// default.
func located(id string, at Location) metadata.Extension {
	if at == "" {
		return extension(id, `{}`)
	}
	return extension(id, `{"location":%q}`, at)
}

// MaxEncoded implements [codec.BytesBytes].
func (checksum) MaxEncoded(n int64) int64 { return min(n, math.MaxInt64-checksumSize) + checksumSize }

// Encode implements [codec.BytesBytes].
func (c checksum) Encode(dst, src []byte) ([]byte, error) {
	if c.start {
		return append(binary.LittleEndian.AppendUint32(dst, c.sum(src)), src...), nil
	}
	return binary.LittleEndian.AppendUint32(append(dst, src...), c.sum(src)), nil
}

// Decode implements [codec.BytesBytes].
func (c checksum) Decode(dst, src []byte, most int64) ([]byte, error) {
	data, err := c.Trim(src)
	if err != nil {
		return dst, err
	}
	if int64(len(data)) > most {
		return dst, fmt.Errorf("%w: %s: %d bytes besides the checksum, want at most %d", codec.ErrTooLong, c.id, len(data), most)
	}
	return append(dst, data...), nil
}

// Trim implements [codec.Trimmer].
func (c checksum) Trim(src []byte) ([]byte, error) {
	n := len(src) - checksumSize
	if n < 0 {
		return nil, fmt.Errorf("%w: %s: %d bytes are too few for a checksum", codec.ErrCorrupt, c.id, len(src))
	}
	// Limit the capacity, so that appending to the data does not overwrite the checksum.
	data, tail := src[:n:n], src[n:]
	if c.start {
		data, tail = src[checksumSize:len(src):len(src)], src
	}
	stored, sum := binary.LittleEndian.Uint32(tail), c.sum(data)
	if stored != sum {
		return nil, fmt.Errorf("%w: %s of %d bytes is %#08x, stored is %#08x", codec.ErrChecksum, c.id, n, sum, stored)
	}
	return data, nil
}
