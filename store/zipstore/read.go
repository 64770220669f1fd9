// SPDX-License-Identifier: Apache-2.0

package zipstore

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/flate"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// Get implements [store.Store]. A range of a deflated member reads and decodes the whole
// member, with little memory.
func (s *reader) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := s.get(ctx, key, q, dst)
	if err != nil {
		return nil, store.Info{}, fail("reading", key, err)
	}
	return out, info, nil
}

func (s *reader) get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	m, err := s.find(ctx, key)
	if err == nil {
		err = m.readable()
	}
	if err != nil {
		return nil, store.Info{}, err
	}
	off, n, err := q.Resolve(m.size)
	if err != nil {
		return nil, store.Info{}, err
	}
	if n > math.MaxInt-int64(len(dst)) {
		return nil, store.Info{}, fmt.Errorf("%w: %s", store.ErrTooLarge, quantity.Count(n, "bytes"))
	}
	if m.method == deflated {
		dst, err = s.inflate(ctx, m, off, n, dst)
	} else {
		dst, err = s.read(ctx, m, off, n, dst)
	}
	return dst, s.describe(m), err
}

// smallMember is the largest member, in bytes, that is read together with its record.
const smallMember = 1 << 20

// slack is the number of additional bytes to request for the record of a member, whose
// extra field may be longer than in the directory.
const slack = 256

// read appends bytes of a stored member.
func (s *reader) read(ctx context.Context, m *member, off, n int64, dst []byte) (_ []byte, err error) {
	given := len(dst)
	data := m.data.Load()
	// A small member that is read as a whole takes one request.
	if data == 0 && n == m.size && n <= smallMember {
		dst, err = s.readBoth(ctx, m, dst)
	} else {
		if data == 0 {
			data, err = s.locate(ctx, m)
		}
		if err == nil && n > 0 {
			dst, _, err = s.archive.Read(ctx, store.Request{Range: store.Span(data+off, n)}, dst)
		}
	}
	// The checksum covers the whole member.
	if err == nil && n == m.size && crc32.ChecksumIEEE(dst[given:]) != m.crc {
		err = corrupt("the checksum of the member is wrong")
	}
	return dst, err
}

// locate returns the offset of the bytes of a member.
func (s *reader) locate(ctx context.Context, m *member) (int64, error) {
	b := budget.Get(localLength + int64(len(m.name)))
	defer b.Put()
	raw, _, err := s.archive.Read(ctx, store.Request{Range: store.Span(m.off, localLength+int64(len(m.name)))}, b.B)
	if err != nil {
		return 0, err
	}
	return m.locate(raw)
}

// readBoth reads the record of a small member and its bytes in one request.
func (s *reader) readBoth(ctx context.Context, m *member, dst []byte) ([]byte, error) {
	// Do not read into the next member.
	n := min(m.stop-m.off, localLength+int64(len(m.name))+slack+m.packed)
	b := budget.Get(n)
	defer b.Put()
	raw, _, err := s.archive.Read(ctx, store.Request{Range: store.Span(m.off, n)}, b.B)
	if err != nil {
		return nil, err
	}
	data, err := m.locate(raw)
	if err != nil {
		return nil, err
	}
	if begin := data - m.off; begin+m.packed <= int64(len(raw)) {
		return append(dst, raw[begin:begin+m.packed]...), nil
	}
	// The extra field is longer than slack.
	dst, _, err = s.archive.Read(ctx, store.Request{Range: store.Span(data, m.packed)}, dst)
	return dst, err
}

// inflaters are decoders for reuse.
var inflaters sync.Pool

// firstStep is the number of bytes to allocate before any are decoded. So a false size in
// the directory takes no memory.
const firstStep = 16 << 20

// inflate appends bytes of a deflated member. It decodes the whole member to verify the
// checksum.
func (s *reader) inflate(ctx context.Context, m *member, off, n int64, dst []byte) ([]byte, error) {
	data := m.data.Load()
	if data == 0 {
		var err error
		if data, err = s.locate(ctx, m); err != nil {
			return nil, err
		}
	}
	src := &packed{ctx: ctx, s: s, at: data, end: data + m.packed}
	defer src.close()
	d, ok := inflaters.Get().(io.ReadCloser)
	if !ok {
		d = flate.NewReader(src)
	} else if err := d.(flate.Resetter).Reset(src, nil); err != nil {
		return nil, err
	}
	defer inflaters.Put(d)
	sum := crc32.NewIEEE()
	r := io.TeeReader(d, sum)
	if _, err := io.CopyN(io.Discard, r, off); err != nil {
		return nil, src.fault(err)
	}
	dst, err := appendFrom(r, dst, n)
	if err != nil {
		return nil, src.fault(err)
	}
	// Read one byte more than the rest, to notice a member that is too long.
	rest, err := io.Copy(io.Discard, io.LimitReader(r, m.size-off-n+1))
	switch {
	case err != nil:
		return nil, src.fault(err)
	case rest != m.size-off-n:
		return nil, corrupt("the member does not have the %s that the directory claims", quantity.Count(m.size, "bytes"))
	case src.left() != 0:
		return nil, corrupt("the member has %s", quantity.Count(src.left(), "superfluous bytes"))
	case sum.Sum32() != m.crc:
		return nil, corrupt("the checksum of the member is wrong")
	}
	return dst, nil
}

// appendFrom appends n bytes of r.
func appendFrom(r io.Reader, dst []byte, n int64) ([]byte, error) {
	for n > 0 {
		if len(dst) == cap(dst) {
			dst = slices.Grow(dst, int(min(n, max(firstStep, int64(len(dst)/2)))))
		}
		k := int(min(n, int64(cap(dst)-len(dst))))
		if _, err := io.ReadFull(r, dst[len(dst):len(dst)+k]); err != nil {
			return nil, err
		}
		dst = dst[:len(dst)+k]
		n -= int64(k)
	}
	return dst, nil
}

// block is the number of bytes of a deflated member that are read at once.
const block = 4 << 20

// packed reads the bytes of a deflated member.
type packed struct {
	ctx     context.Context
	s       *reader
	at, end int64 // the range that has not been read yet
	buffer  *budget.Buffer
	b       []byte
	err     error // of reading the archive, not of decoding
}

// left returns the number of bytes that the decoder has not read.
func (p *packed) left() int64 { return p.end - p.at + int64(len(p.b)) }

func (p *packed) fill() error {
	if len(p.b) > 0 {
		return nil
	}
	n := min(p.end-p.at, block)
	if n == 0 {
		return io.EOF
	}
	if p.buffer == nil {
		p.buffer = budget.Get(n)
	}
	p.b, _, p.err = p.s.archive.Read(p.ctx, store.Request{Range: store.Span(p.at, n)}, p.buffer.B[:0])
	p.at += int64(len(p.b))
	return p.err
}

func (p *packed) Read(dst []byte) (int, error) {
	if err := p.fill(); err != nil {
		return 0, err
	}
	n := copy(dst, p.b)
	p.b = p.b[n:]
	return n, nil
}

// ReadByte makes the decoder read no byte more than it needs: it reads ahead from sources
// without this method.
func (p *packed) ReadByte() (byte, error) {
	if err := p.fill(); err != nil {
		return 0, err
	}
	c := p.b[0]
	p.b = p.b[1:]
	return c, nil
}

// fault returns the error of reading the archive, if there was one. Otherwise it
// returns an error for a member that does not decode.
func (p *packed) fault(err error) error {
	if p.err != nil {
		return p.err
	}
	return corrupt("the member does not decode: %v", err)
}

func (p *packed) close() { p.buffer.Put() }

// OpenWithin opens an archive in a store of objects, and the path rel of a node in it. It
// is for drivers: open opens the store of the folder that has the archive.
func OpenWithin(
	ctx context.Context, archive, rel string, open func(folder string) (store.Store, error),
) (store.Store, store.Path, error) {
	at, err := store.ParsePath(rel)
	if err != nil {
		return nil, store.Path{}, err
	}
	i := strings.LastIndexByte(archive, '/')
	key, err := store.ParseKey(archive[i+1:])
	if err != nil {
		return nil, store.Path{}, err
	}
	below, err := open(archive[:max(i, 0)])
	if err != nil {
		return nil, store.Path{}, err
	}
	s, err := Open(ctx, store.Wrap(ctx, below), key, nil)
	if err != nil {
		return nil, store.Path{}, errors.Join(err, store.Close(below))
	}
	return s, at, nil
}
