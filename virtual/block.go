// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// ErrLimit means that a manifest is larger than this program works with.
var ErrLimit = errors.New("the manifest is too large")

// reference says where a chunk is. The zero reference is a chunk that is not stored.
type reference struct {
	// source is the number of the source, counted from 1.
	source         uint32
	offset, length uint64 // in bytes; see whole
}

// whole is the length of a reference to a whole source, whose size is not known.
const whole = 1<<64 - 1

// check returns an error if a chunk has an impossible place.
func (r *references) check() error {
	const most = 1<<63 - 1
	for i := range r.source {
		if r.offset[i] > most || r.length[i] > most-r.offset[i] {
			return scan.Corruptf("a reference to %s at %d", quantity.Count(r.length[i], "bytes"), r.offset[i])
		}
	}
	return nil
}

// references are the references of consecutive chunks, in columns: 20 bytes for each.
type references struct {
	source         []uint32
	offset, length []uint64
}

func (r *references) len() int { return len(r.source) }

func (r *references) at(i int) reference {
	return reference{r.source[i], r.offset[i], r.length[i]}
}

func (r *references) set(i int, x reference) {
	r.source[i], r.offset[i], r.length[i] = x.source, x.offset, x.length
}

// stored returns the number of references to chunks that are stored.
func (r *references) stored() (n int64) {
	for _, s := range r.source {
		if s != 0 {
			n++
		}
	}
	return n
}

// concat appends other references.
func (r *references) concat(o references) {
	r.source = append(r.source, o.source...)
	r.offset = append(r.offset, o.offset...)
	r.length = append(r.length, o.length...)
}

// slice returns the references from one index up to another. They share their memory.
func (r *references) slice(from, to int) references {
	return references{r.source[from:to:to], r.offset[from:to:to], r.length[from:to:to]}
}

func makeReferences(n int) references {
	return references{make([]uint32, n), make([]uint64, n), make([]uint64, n)}
}

// A block is the stored form of consecutive references: one Zstandard frame of three
// columns of varints, one after the other.
//
//	source   the difference to the previous one, zigzag
//	offset   the difference to where the previous chunk of this source ends, zigzag;
//	         nothing for a chunk that is not stored
//	length   the difference to the previous length, zigzag; the same
//
// Chunks that follow each other in a file, as most do, are three zeros.
const (
	// mostReferences bounds the references of a block. It is also what one lookup decodes
	// at most.
	mostReferences = 1 << 16
	// mostColumns bounds a decoded block in bytes.
	mostColumns = mostReferences * 3 * binary.MaxVarintLen64
)

var (
	blockEncoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	blockDecoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(mostColumns))
)

// appendBlock appends the stored form of references.
func appendBlock(dst []byte, r references) []byte {
	columns := make([]byte, 0, 4*r.len())
	last := int64(0)
	for _, s := range r.source {
		columns = binary.AppendVarint(columns, int64(s)-last)
		last = int64(s)
	}
	ends := tails{}
	for i, s := range r.source {
		if s != 0 {
			columns = binary.AppendVarint(columns, int64(r.offset[i]-ends.of(s)))
			ends.set(s, r.offset[i]+r.length[i])
		}
	}
	length := uint64(0)
	for i, s := range r.source {
		// Lengths are differences: uncompressed chunks are all as long, and a column of
		// zeros takes almost nothing.
		if s != 0 {
			columns = binary.AppendVarint(columns, int64(r.length[i]-length))
			length = r.length[i]
		}
	}
	return blockEncoder.EncodeAll(columns, dst)
}

// tails has where the last chunk of the last source ended. Another source begins at 0.
type tails struct {
	source uint32
	end    uint64
}

func (t *tails) of(source uint32) uint64 {
	if t.source != source {
		return 0
	}
	return t.end
}

func (t *tails) set(source uint32, end uint64) { t.source, t.end = source, end }

// parseBlock decodes n references.
func parseBlock(data []byte, n int) (references, error) {
	if n < 0 || n > mostReferences {
		return references{}, scan.Corruptf("a block of %s", quantity.Count(n, "references"))
	}
	columns, err := blockDecoder.DecodeAll(data, nil)
	if err != nil {
		return references{}, scan.Corruptf("a block of references: %v", err)
	}
	// Each takes at least a byte, so memory is bounded by what is stored.
	if n > len(columns) {
		return references{}, scan.Corruptf("a block of %s has %s", quantity.Count(n, "references"), quantity.Count(len(columns), "bytes"))
	}
	r := makeReferences(n)
	c := column{columns}
	last := int64(0)
	for i := range r.source {
		last += c.next()
		r.source[i] = uint32(last)
	}
	// The end of a chunk is known only with its length, so read lengths into place first.
	offsets := column{c.rest}
	for _, s := range r.source {
		if s != 0 {
			c.next()
		}
	}
	length := uint64(0)
	ends := tails{}
	for i, s := range r.source {
		if s != 0 {
			length += uint64(c.next())
			r.length[i] = length
			r.offset[i] = ends.of(s) + uint64(offsets.next())
			ends.set(s, r.offset[i]+length)
		}
	}
	// A column that ended early has left nil. Bytes that remain show another version.
	if c.rest == nil || len(c.rest) > 0 || last < 0 {
		return references{}, scan.Corruptf("a block of references has other columns than its %s", quantity.Count(n, "references need"))
	}
	return r, r.check()
}

// column reads varints. After a bad one its rest is nil.
type column struct{ rest []byte }

func (c *column) next() int64 {
	v, n := binary.Varint(c.rest)
	if n <= 0 {
		c.rest = nil
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

// A block of sources is one Zstandard frame. Each source has
//
//	uvarint   how many bytes its location shares with the previous one
//	uvarint   how many other bytes follow, and these
//	uvarint   its size in bytes
//	varint    when it was modified: nanoseconds since 1970, or 0
//	uvarint   the length of its version, and this
const (
	mostSources    = 1 << 14  // of a block
	mostLocation   = 1 << 12  // bytes of a location or a version
	mostSourceText = 16 << 20 // bytes of all locations
)

var sourceDecoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(mostSourceText))

func appendSources(dst []byte, list []Source) []byte {
	var text []byte
	last := ""
	for _, s := range list {
		shared := 0
		// Daily files lie in one folder, and their names differ in a few letters.
		for shared < min(len(last), len(s.Location)) && last[shared] == s.Location[shared] {
			shared++
		}
		text = binary.AppendUvarint(text, uint64(shared))
		text = appendString(text, s.Location[shared:])
		text = binary.AppendUvarint(text, uint64(s.Size))
		text = binary.AppendVarint(text, s.Modified)
		text = appendString(text, s.Version)
		last = s.Location
	}
	return blockEncoder.EncodeAll(text, dst)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func parseSources(data []byte, n int) ([]Source, error) {
	if n < 0 || n > mostSources {
		return nil, scan.Corruptf("a block of %s", quantity.Count(n, "sources"))
	}
	text, err := sourceDecoder.DecodeAll(data, nil)
	if err != nil {
		return nil, scan.Corruptf("a block of sources: %v", err)
	}
	p := sourceText{rest: text}
	var list []Source
	last, room := "", mostSourceText
	for range n {
		shared := p.number()
		own := p.text()
		// Check before the slice below.
		if shared > uint64(len(last)) || p.bad {
			return nil, scan.Corruptf("a block of sources ends early")
		}
		s := Source{Location: last[:shared] + own, Size: int64(p.number() & (1<<63 - 1)), Modified: p.signed(), Version: p.text()}
		// Shared beginnings take memory that the block does not show.
		if room -= len(s.Location); p.bad || room < 0 || len(s.Location) > mostLocation {
			return nil, scan.Corruptf("a source %.60q", s.Location)
		}
		list, last = append(list, s), s.Location
	}
	if len(p.rest) > 0 {
		return nil, fmt.Errorf("%w: %s after the sources", scan.ErrCorrupt, quantity.Count(len(p.rest), "bytes"))
	}
	return list, nil
}

// sourceText reads a block of sources.
type sourceText struct {
	rest []byte
	bad  bool
}

func (p *sourceText) number() uint64 {
	v, n := binary.Uvarint(p.rest)
	return v * p.took(n)
}

func (p *sourceText) signed() int64 {
	v, n := binary.Varint(p.rest)
	return v * int64(p.took(n))
}

// took passes n bytes, and returns 1, or 0 if they are bad.
func (p *sourceText) took(n int) uint64 {
	if n <= 0 {
		p.rest, p.bad = nil, true
		return 0
	}
	p.rest = p.rest[n:]
	return 1
}

func (p *sourceText) text() string {
	n := p.number()
	// The length is hostile: it must not be turned into an allocation.
	if n > mostLocation || n > uint64(len(p.rest)) {
		p.rest, p.bad = nil, true
		return ""
	}
	s := string(p.rest[:n])
	p.rest = p.rest[n:]
	return s
}

// checkSources returns an error if sources cannot be stored beside others.
func checkSources(list []Source, others int64) error {
	if others+int64(len(list)) > mostNumbers {
		return fmt.Errorf("%w: %s, and at most %d are possible", ErrLimit, quantity.Count(others+int64(len(list)), "sources"), int64(mostNumbers))
	}
	for _, s := range list {
		if err := s.checkLength(); err != nil {
			return err
		}
	}
	return nil
}

// What is stored can be read again: a manifest beyond a limit of reading is refused
// before it is written, or where a file makes it so.

// mostNumbers is the number of sources that a manifest may have.
const mostNumbers = 1<<32 - 2

// checkLength returns an error if the location or the version of a source is too long.
func (s *Source) checkLength() error {
	if len(s.Location) > mostLocation {
		return fmt.Errorf("%w: the location %.60s… of a file has %s, and at most %d are possible; place the manifest nearer to its files, or give them shorter names", ErrLimit, driver.Redact(s.Location), quantity.Count(len(s.Location), "bytes"), mostLocation)
	}
	if len(s.Version) > mostLocation {
		return fmt.Errorf("%w: the version of %s has %s, and at most %d are possible", ErrLimit, driver.Redact(s.Location), quantity.Count(len(s.Version), "bytes"), mostLocation)
	}
	return nil
}

// sourcesOfBlock returns how many of a list of sources fit into one block.
func sourcesOfBlock(list []Source) int {
	const numbers = 5 * 10 // bytes of those of a source, at most
	n, size := 0, 0
	for n < min(len(list), mostSources) {
		size += len(list[n].Location) + len(list[n].Version) + numbers
		// The first source always fits, because its location and version are bounded.
		if size > mostSourceText && n > 0 {
			break
		}
		n++
	}
	return n
}
