// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"math"
	"math/bits"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/quantity"
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
		return dst, fmt.Errorf("%w: %s: %s besides the checksum, want at most %d", codec.ErrTooLong, c.id, quantity.Count(len(data), "bytes"), most)
	}
	return append(dst, data...), nil
}

// Trim implements [codec.Trimmer].
func (c checksum) Trim(src []byte) ([]byte, error) {
	n := len(src) - checksumSize
	if n < 0 {
		return nil, fmt.Errorf("%w: %s: %s too few for a checksum", codec.ErrCorrupt, c.id, quantity.Count(len(src), "bytes are"))
	}
	// Limit the capacity, so that appending to the data does not overwrite the checksum.
	data, tail := src[:n:n], src[n:]
	if c.start {
		data, tail = src[checksumSize:len(src):len(src)], src
	}
	stored, sum := binary.LittleEndian.Uint32(tail), c.sum(data)
	if stored != sum {
		return nil, fmt.Errorf("%w: %s of %s is %#08x, stored is %#08x", codec.ErrChecksum, c.id, quantity.Count(n, "bytes"), sum, stored)
	}
	return data, nil
}

func init() { registerChecksum("adler32", Start, adler32.Checksum, "adler32") }

// Adler32 returns the metadata of numcodecs.adler32, the checksum of zlib (RFC 1950). The
// default location is [Start].
func Adler32(at Location) metadata.Extension { return located("adler32", at) }

func init() { registerChecksum("crc32", Start, crc32.ChecksumIEEE) }

// CRC32 returns the metadata of numcodecs.crc32, the checksum of zip and PNG files. The
// default location is [Start].
func CRC32(at Location) metadata.Extension { return located("crc32", at) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func init() {
	registerChecksum("crc32c", End, func(data []byte) uint32 { return crc32.Checksum(data, castagnoli) })
}

// CRC32C returns the metadata of numcodecs.crc32c. The default location is [End], which
// makes it the same as the codec "crc32c" of the specification.
func CRC32C(at Location) metadata.Extension { return located("crc32c", at) }

func init() {
	f := func(configuration []byte) (any, error) {
		if err := decode("fletcher32", configuration, &struct{}{}); err != nil {
			return nil, err
		}
		return checksum{"fletcher32", false, fletcher32}, nil
	}
	register("fletcher32", f, "fletcher32", "https://codec.zarrs.dev/bytes_to_bytes/fletcher32")
}

// Fletcher32 returns the metadata of numcodecs.fletcher32, the checksum of HDF5 and
// netCDF-4, a variant of Fletcher's. It is stored after the data and has no
// configuration.
func Fletcher32() metadata.Extension { return extension("fletcher32", `{}`) }

// fletcher32 sums 16-bit big-endian words, and these sums. Both are taken modulo 65535,
// where any nonzero multiple becomes 65535. The result depends only on the exact sums, so
// they are folded as rarely as 64 bits permit.
func fletcher32(data []byte) uint32 {
	const stretch = 1 << 20 // bytes: sums stay below 2^56
	var a, b uint64
	for len(data) > 1 {
		n := min(len(data)&^1, stretch)
		a, b = fletcherWords(a, b, data[:n])
		a, b, data = fold(a), fold(b), data[n:]
	}
	if len(data) == 1 {
		// A single last byte is the high half of a word.
		a += uint64(data[0]) << 8
		b += a
	}
	return uint32(fold(b)<<16 | fold(a))
}

// fletcherWords adds an even number of bytes, four words at a time.
func fletcherWords(a, b uint64, data []byte) (uint64, uint64) {
	for len(data) >= 8 {
		v := binary.BigEndian.Uint64(data)
		// Four words at once: b grows by the four sums that a would have after each.
		w0, w1, w2, w3 := v>>48, v>>32&0xffff, v>>16&0xffff, v&0xffff
		b += 4*(a+w0) + 3*w1 + 2*w2 + w3
		a += w0 + w1 + w2 + w3
		data = data[8:]
	}
	for len(data) >= 2 {
		a += uint64(binary.BigEndian.Uint16(data))
		b += a
		data = data[2:]
	}
	return a, b
}

// fold returns s modulo 65535 as a number from 1 to 65535, but 0 for 0.
func fold(s uint64) uint64 {
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return s
}

func init() { register("jenkins_lookup3", newJenkins) }

// JenkinsLookup3 returns the metadata of numcodecs.jenkins_lookup3, the checksum of HDF5
// metadata (Bob Jenkins, lookup3.c, hashlittle). It is stored after the data.
func JenkinsLookup3() metadata.Extension { return extension("jenkins_lookup3", `{}`) }

// newJenkins reads the initial value of the hash, and the bytes to hash before the data.
// numcodecs spells these as a list of numbers.
func newJenkins(configuration []byte) (any, error) {
	var c struct {
		First  codec.Int   `json:"initval"`
		Before []codec.Int `json:"prefix"`
	}
	if err := decode("jenkins_lookup3", configuration, &c, "prefix"); err != nil {
		return nil, err
	}
	if c.First < 0 || c.First > math.MaxUint32 {
		return nil, fmt.Errorf("%w: jenkins_lookup3: initval %d does not fit 32 bits", codec.ErrConfiguration, c.First)
	}
	before := make([]byte, len(c.Before))
	for i, v := range c.Before {
		if v < 0 || v > math.MaxUint8 {
			return nil, fmt.Errorf("%w: jenkins_lookup3: element %d of prefix, %d, is not a byte", codec.ErrConfiguration, i, v)
		}
		before[i] = byte(v)
	}
	first := uint32(c.First)
	return checksum{"jenkins_lookup3", false, func(data []byte) uint32 { return lookup3(first, before, data) }}, nil
}

// lookup3 returns the hash of two consecutive pieces of data.
func lookup3(first uint32, before, data []byte) uint32 {
	if len(before) == 0 && len(data) == 0 {
		// The hash of nothing is the start value, which is not mixed.
		return 0xdeadbeef + first
	}
	start := 0xdeadbeef + uint32(len(before)+len(data)) + first
	m := mixer{a: start, b: start, c: start}
	m.write(before)
	m.write(data)
	return m.sum()
}

// mixer is the state of lookup3. It holds back the last block of up to 12 bytes, which is
// mixed differently.
type mixer struct {
	a, b, c uint32
	last    [12]byte
	n       int // bytes of last
}

func (m *mixer) write(p []byte) {
	// Complete the block that the last call left.
	if m.n > 0 {
		k := copy(m.last[m.n:], p)
		m.n += k
		if p = p[k:]; len(p) == 0 {
			return
		}
		m.blocks(m.last[:], 12)
	}
	// Hold back the last block, even if it is complete.
	whole := max(len(p)-1, 0) / 12 * 12
	m.blocks(p, whole)
	m.n = copy(m.last[:], p[whole:])
}

// blocks mixes the first n bytes, a multiple of 12.
func (m *mixer) blocks(p []byte, n int) {
	a, b, c := m.a, m.b, m.c
	for ; n > 0; n -= 12 {
		a += binary.LittleEndian.Uint32(p)
		b += binary.LittleEndian.Uint32(p[4:])
		c += binary.LittleEndian.Uint32(p[8:])
		a = a - c ^ bits.RotateLeft32(c, 4)
		c += b
		b = b - a ^ bits.RotateLeft32(a, 6)
		a += c
		c = c - b ^ bits.RotateLeft32(b, 8)
		b += a
		a = a - c ^ bits.RotateLeft32(c, 16)
		c += b
		b = b - a ^ bits.RotateLeft32(a, 19)
		a += c
		c = c - b ^ bits.RotateLeft32(b, 4)
		b += a
		p = p[12:]
	}
	m.a, m.b, m.c = a, b, c
}

// sum mixes the last block, padded with zeros.
func (m *mixer) sum() uint32 {
	// Zeros fill up the last block, which is mixed in its own way.
	clear(m.last[m.n:])
	a := m.a + binary.LittleEndian.Uint32(m.last[0:])
	b := m.b + binary.LittleEndian.Uint32(m.last[4:])
	c := m.c + binary.LittleEndian.Uint32(m.last[8:])
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	return (c ^ b) - bits.RotateLeft32(b, 24)
}
