// SPDX-License-Identifier: Apache-2.0

package grib2

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Section numbers in this file are those of CCSDS 121.0-B, "Lossless Data Compression".

// The flags of template 5.42. Others tell how decoded samples lie in memory.
const (
	signedSamples = 0x01
	preprocessed  = 0x08 // samples are differences from those before them
	restricted    = 0x10 // the short options of samples of up to four bits
	padded        = 0x20 // intervals begin at a byte
)

// samples reads the samples of a field in blocks (section 3).
type samples struct {
	bitReader
	flags    byte
	width    int    // bits of a sample
	largest  uint64 // sample
	block    int    // samples in a block
	interval int    // blocks from one reference sample to the next
	idBits   int    // of the option that codes a block

	at    int    // number of the block in its interval
	zeros int    // blocks of zeros that follow
	last  uint64 // sample
	data  [math.MaxUint8]uint64
}

// unpackCCSDS decodes values that the adaptive entropy coder of CCSDS packs (template
// 7.42).
func (p *packing) unpackCCSDS(v values, data []byte) error {
	s, err := p.samples(data)
	if err != nil {
		return err
	}
	for done := 0; done < v.len(); {
		if err := s.next(); err != nil {
			return err
		}
		// The last block is whole, and may have more samples than there are values.
		for _, x := range s.data[:min(s.block, v.len()-done)] {
			v.set(done, p.value(float64(x)))
			done++
		}
	}
	return nil
}

// samples reads the parameters of the coder (octets 22 to 25).
func (p *packing) samples(data []byte) (*samples, error) {
	o := p.section
	s := &samples{
		bitReader: bitReader{b: data, end: 8 * int64(len(data))}, flags: o[21], width: p.bits,
		block: int(o[22]), interval: int(binary.BigEndian.Uint16(o[23:])),
	}
	switch {
	case s.flags&signedSamples != 0:
		return nil, unsupported("CCSDS with signed samples")
	case s.width > 32 || s.block == 0 || s.interval == 0:
		return nil, corrupt("section 5 has CCSDS samples of %d bits in blocks of %d and intervals of %d", s.width, s.block, s.interval)
	case s.flags&restricted != 0 && s.width > 4:
		return nil, corrupt("section 5 has restricted CCSDS options for samples of %d bits", s.width)
	case s.flags&restricted != 0:
		s.idBits = 1 + (s.width-1)/2
	case s.width <= 8:
		s.idBits = 3
	case s.width <= 16:
		s.idBits = 4
	default:
		s.idBits = 5
	}
	s.largest = 1<<s.width - 1
	return s, nil
}

// next decodes a block of samples.
func (s *samples) next() error {
	data := s.data[:s.block]
	first := 0 // that is coded as a difference
	if s.flags&preprocessed == 0 {
		first = s.block
	} else if s.at == 0 {
		first = 1
	}
	if s.at == 0 && s.flags&padded != 0 {
		s.bitReader.at = (s.bitReader.at + 7) / 8 * 8
	}
	if s.zeros > 0 {
		s.zeros--
		clear(data)
	} else if err := s.decode(data, first == 1); err != nil {
		return err
	}
	for _, x := range data {
		if x > s.largest {
			return corrupt("a CCSDS sample of %d, more than %d bits", x, s.width)
		}
	}
	if first == 1 {
		s.last = data[0]
	}
	for i := first; i < len(data); i++ {
		s.last = s.restore(data[i])
		data[i] = s.last
	}
	s.at = (s.at + 1) % s.interval
	return nil
}

// restore returns the sample that a difference means (section 4.4, "Prediction error
// mapper"). Differences of both signs alternate as long as both are possible.
func (s *samples) restore(d uint64) uint64 {
	room := min(s.last, s.largest-s.last)
	switch {
	case d <= 2*room && d%2 == 0:
		return s.last + d/2
	case d <= 2*room:
		return s.last - (d+1)/2
	case s.last == room:
		return d
	}
	return s.largest - d
}

// decode decodes a block (section 3.5, "Code option selection"). With a reference, the
// first sample is stored as it is.
func (s *samples) decode(data []uint64, reference bool) error {
	id, err := s.read(s.idBits)
	if err != nil {
		return err
	}
	if id == 1<<s.idBits-1 { // no compression
		return s.readAll(data, s.width)
	}
	second := uint64(0)
	if id == 0 {
		if second, err = s.read(1); err != nil {
			return err
		}
	}
	coded := data
	if reference {
		if data[0], err = s.read(s.width); err != nil {
			return err
		}
		coded = data[1:]
	}
	switch {
	case id > 0:
		return s.split(coded, int(id-1))
	case second == 1:
		return s.secondExtension(data, len(data)-len(coded))
	}
	clear(coded)
	return s.zeroBlocks()
}

// split decodes samples whose low bits are stored apart (section 3.3).
func (s *samples) split(data []uint64, low int) (err error) {
	for i := range data {
		if data[i], err = s.count(); err != nil {
			return err
		}
	}
	if low == 0 {
		return nil
	}
	for i, high := range data {
		x, err := s.read(low)
		if err != nil {
			return err
		}
		data[i] = high<<low | x
	}
	return nil
}

// secondExtension decodes pairs of samples from one number each (section 3.4.2). A
// reference takes the place of the first sample of the first pair.
func (s *samples) secondExtension(data []uint64, first int) error {
	for i := first &^ 1; i < len(data); i += 2 {
		n, err := s.count()
		if err != nil {
			return err
		}
		const most = 90 // of pairs that are better coded in this way
		if n > most {
			return corrupt("a pair of CCSDS samples has the number %d", n)
		}
		sum := uint64(0)
		for (sum+1)*(sum+2)/2 <= n {
			sum++
		}
		b := n - sum*(sum+1)/2
		if i >= first {
			data[i] = sum - b
		}
		if i+1 < len(data) {
			data[i+1] = b
		}
	}
	return nil
}

// zeroBlocks reads how many blocks of zeros there are, of which this is the first
// (section 3.4.3). They do not go beyond the interval, or beyond a segment of 64 blocks.
func (s *samples) zeroBlocks() error {
	const rest, segment = 4, 64
	n, err := s.count()
	if err != nil {
		return err
	}
	left := s.interval - s.at
	switch {
	case n == rest:
		n = uint64(min(left, segment-s.at%segment))
	case n < rest:
		n++
	}
	if n > uint64(left) {
		return corrupt("%d blocks of zeros, of %d in the interval", n, left)
	}
	s.zeros = int(n) - 1
	return nil
}

// bitReader reads bits.
type bitReader struct {
	b       []byte
	at, end int64 // in bits
}

// read reads a number of 1 to 32 bits.
func (r *bitReader) read(n int) (uint64, error) {
	if int64(n) > r.end-r.at {
		return 0, corrupt("section 7 has %d bytes, and needs more", len(r.b))
	}
	x := bitsAt(r.b, r.at, n)
	r.at += int64(n)
	return x, nil
}

// readAll reads numbers of some bits.
func (r *bitReader) readAll(data []uint64, n int) (err error) {
	for i := range data {
		if data[i], err = r.read(n); err != nil {
			return err
		}
	}
	return nil
}

// count reads a number that is coded as so many zeros before a one (section 3.2).
func (r *bitReader) count() (n uint64, err error) {
	for r.at < r.end {
		have := int(min(maxBits, r.end-r.at))
		word := bitsAt(r.b, r.at, have)
		if zeros := have - bits.Len64(word); zeros < have {
			r.at += int64(zeros) + 1
			return n + uint64(zeros), nil
		}
		n += uint64(have)
		r.at += int64(have)
	}
	return 0, corrupt("section 7 has %d bytes, and needs more", len(r.b))
}
