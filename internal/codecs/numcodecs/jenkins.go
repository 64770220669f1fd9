// SPDX-License-Identifier: Apache-2.0

package numcodecs

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/metadata"
)

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
